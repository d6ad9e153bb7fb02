// Whoever compiles for others: the builder child (builder_client.h), or a test's own.
#ifndef PROTO_BUILDER_H_
#define PROTO_BUILDER_H_

#include "absl/status/statusor.h"
#include "proto/compile.h"

namespace burnish {

// Not thread-safe, but for Cancel.
class Builder {
 public:
  virtual ~Builder() = default;

  // A candidate that cannot be built is a Failure among the results. Errors: INVALID_ARGUMENT for a
  // malformed request or an unknown target, FAILED_PRECONDITION for another codegen epoch,
  // UNAVAILABLE when the builder cannot be started or keeps dying.
  virtual absl::StatusOr<CompileReply> Build(const CompileRequest& request) = 0;

  // From any thread: a Build in progress shall return CANCELLED soon. May do nothing.
  virtual void Cancel() {}
};

}  // namespace burnish

#endif  // PROTO_BUILDER_H_
