#include "tuner/app/bundle_session.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "compiler/runtime/bundle.h"
#include "compiler/runtime/side_by_side.h"
#include "compiler/runtime/thread_pool.h"
#include "tuner/app/error.h"
#include "tuner/app/value_text.h"

namespace burnish {
namespace {

absl::Status LoadError(const RuntimeStatus& status, const std::string& path) {
  ErrorCode code = ErrorCode::kInternal;
  switch (status.code()) {
    case RuntimeCode::kNotFound:
      code = ErrorCode::kNoInputFile;
      break;
    case RuntimeCode::kInvalidArgument:
      code = ErrorCode::kNotBundle;
      break;
    case RuntimeCode::kDataLoss:
      code = ErrorCode::kDamagedBundle;
      break;
    case RuntimeCode::kFailedPrecondition:
      code = ErrorCode::kOtherCpu;
      break;
    case RuntimeCode::kResourceExhausted:
      code = ErrorCode::kOutOfMemory;
      break;
    default:
      break;
  }
  return WithError(ToStatus(status), code, path);
}

absl::StatusOr<std::shared_ptr<const Model>> Load(const std::string& path) {
  RuntimeOr<std::shared_ptr<const Model>> model = Model::LoadFile(path, {});
  if (!model.ok()) return LoadError(model.status(), path);
  return *std::move(model);
}

absl::StatusOr<std::unique_ptr<Session>> MakeSession(const std::string& path,
                                                     const std::shared_ptr<const Model>& model,
                                                     const ThreadPoolOptions& threads,
                                                     const SessionOptions& options) {
  RuntimeOr<std::unique_ptr<ThreadPool>> pool = ThreadPool::Create(threads);
  if (!pool.ok()) return LoadError(pool.status(), absl::StrCat(threads.thread_count, " threads"));
  RuntimeOr<std::unique_ptr<Session>> session =
      Session::Create(model, std::shared_ptr<ThreadPool>(*std::move(pool)));
  if (!session.ok()) return LoadError(session.status(), path);
  if (options.loop_limit > 0) (*session)->SetLoopLimit(options.loop_limit);
  return *std::move(session);
}

}  // namespace

absl::StatusOr<BundleManifest> ReadBundleManifest(const std::string& path) {
  const RuntimeOr<BundleReader> reader = BundleReader::OpenFile(path);
  if (!reader.ok()) return LoadError(reader.status(), path);
  return reader->manifest();
}

absl::StatusOr<std::vector<RunSizes>> ReadBundleBounds(const std::string& path) {
  const RuntimeOr<BundleReader> reader = BundleReader::OpenFile(path);
  if (!reader.ok()) return LoadError(reader.status(), path);
  std::vector<RunSizes> bounds;
  for (const BundleReader& variant : reader->variants()) {
    bounds.push_back(variant.manifest().run_sizes);
  }
  return bounds;
}

absl::StatusOr<std::unique_ptr<Session>> OpenBundle(const std::string& path,
                                                    const SessionOptions& options) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const Model> model, Load(path));
  const auto tuned_for = static_cast<int>(model->manifest().thread_count);
  const ThreadPoolOptions threads{.thread_count = options.threads > 0
                                                      ? options.threads
                                                      : std::min(tuned_for, options.threads_max)};
  return MakeSession(path, model, threads, options);
}

absl::StatusOr<std::vector<std::unique_ptr<Session>>> OpenSideBySide(
    const std::string& path, int session_count, const SessionOptions& options) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const Model> model, Load(path));
  std::vector<std::unique_ptr<Session>> sessions;
  for (const ThreadPoolOptions& threads :
       ShareOut(SideBySideHere(session_count, options.threads), {})) {
    ASSIGN_OR_RETURN(std::unique_ptr<Session> session, MakeSession(path, model, threads, options));
    sessions.push_back(std::move(session));
  }
  return sessions;
}

std::string DescribeTensor(const TensorInfo& tensor) {
  return absl::StrCat(ElementTypeName(tensor.type), FormatShape(tensor.shape));
}

}  // namespace burnish
