#include "proto/rpc.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/client_interceptor.h>
#include <unistd.h>

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/secret.h"
#include "base/status_macros.h"
#include "proto/door.h"

namespace burnish {
namespace {

// In a status's details, where the service of tuner.proto has its ErrorDetail. Not one of those: a
// message of that type begins with another byte.
constexpr char kRefusalDetail[] = "burnish-protocol-refusal";

// Of a caller at a port of loopback: the secret, in hexadecimal digits.
constexpr char kSecretMetadata[] = "burnish-secret";

// What a server answered that did not say what it speaks. gRPC itself never makes the codes that
// are listed (its proposal A54), so a server of ours did, which says nothing only in version 0.1.
bool WasAnswered(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::OK:
    case grpc::StatusCode::INVALID_ARGUMENT:
    case grpc::StatusCode::NOT_FOUND:
    case grpc::StatusCode::ALREADY_EXISTS:
    case grpc::StatusCode::FAILED_PRECONDITION:
    case grpc::StatusCode::ABORTED:
    case grpc::StatusCode::OUT_OF_RANGE:
    case grpc::StatusCode::DATA_LOSS:
      return true;
    default:
      return false;
  }
}

// What a channel says in each call.
struct Caller {
  Speaker self;
  std::string self_text;
  absl::StatusOr<std::string> secret;  // Hexadecimal; empty: none is sent.
};

// Says who calls, and looks at who answers.
class SpeakerInterceptor : public grpc::experimental::Interceptor {
 public:
  SpeakerInterceptor(const Caller& caller, absl::string_view method)
      : caller_(caller),
        server_(absl::StartsWith(method, "/burnish.v1.Tracker/") ? "tracker" : "tuner serve") {}

  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    using Hook = grpc::experimental::InterceptionHookPoints;
    if (methods->QueryInterceptionHookPoint(Hook::PRE_SEND_INITIAL_METADATA)) {
      auto& metadata = *methods->GetSendInitialMetadata();
      metadata.emplace(kSpeakerMetadata, caller_.self_text);
      if (caller_.secret.ok() && !caller_.secret->empty()) {
        metadata.emplace(kSecretMetadata, *caller_.secret);
      }
    }
    if (methods->QueryInterceptionHookPoint(Hook::POST_RECV_INITIAL_METADATA)) {
      const auto* const metadata = methods->GetRecvInitialMetadata();
      const auto entry = metadata->find(kSpeakerMetadata);
      if (entry != metadata->end()) {
        answer_.emplace(entry->second.data(), entry->second.size());
      }
    }
    if (methods->QueryInterceptionHookPoint(Hook::POST_RECV_STATUS)) {
      grpc::Status& status = *methods->GetRecvStatus();
      const absl::Status together = Check(status);
      if (!together.ok()) status = ToGrpc(together);
    }
    methods->Proceed();
  }

 private:
  absl::Status Check(const grpc::Status& status) const {
    if (!answer_.has_value()) {
      if (!WasAnswered(status.error_code())) return absl::OkStatus();
      return CheckTogether(caller_.self, FirstVersion(server_));
    }
    const absl::StatusOr<Speaker> server = ParseSpeaker(*answer_);
    if (!server.ok()) return ProtocolRefusal(server.status().message());
    RETURN_IF_ERROR(CheckTogether(caller_.self, *server));
    // Why it had none to send, beside what the server says.
    if (status.error_code() == grpc::StatusCode::UNAUTHENTICATED && !caller_.secret.ok()) {
      return absl::UnauthenticatedError(
          absl::StrCat(status.error_message(), "; here: ", caller_.secret.status().message()));
    }
    return absl::OkStatus();
  }

  const Caller& caller_;  // Of the channel, which outlives its calls.
  const absl::string_view server_;
  std::optional<std::string> answer_;
};

class SpeakerInterceptorFactory : public grpc::experimental::ClientInterceptorFactoryInterface {
 public:
  explicit SpeakerInterceptorFactory(Caller caller) : caller_(std::move(caller)) {}
  grpc::experimental::Interceptor* CreateClientInterceptor(
      grpc::experimental::ClientRpcInfo* info) override {
    const absl::string_view method = info->method();
    if (!absl::StartsWith(method, "/burnish.v1.")) return nullptr;  // Health says nothing of it.
    return new SpeakerInterceptor(caller_, method);  // gRPC deletes it with the call.
  }

 private:
  const Caller caller_;
};

}  // namespace

void SkipLockChecks() { absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore); }

std::shared_ptr<grpc::Channel> OpenChannel(const std::string& address, const Speaker& self) {
  SkipLockChecks();
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kRpcMessageBytesMax);
  // gRPC's own pauses grow to two minutes, but a restarted tracker must be found within seconds.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  // A host that vanished without a word is noticed although calls hang for seconds by design.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5'000);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  std::vector<std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>> interceptors;
  Caller caller{.self = self, .self_text = ToText(self), .secret = LoopbackSecret(address)};
  if (caller.secret.ok()) caller.secret = absl::BytesToHexString(*caller.secret);
  interceptors.push_back(std::make_unique<SpeakerInterceptorFactory>(std::move(caller)));
  return grpc::experimental::CreateCustomChannelWithInterceptors(
      address, grpc::InsecureChannelCredentials(), arguments, std::move(interceptors));
}

Greeter::Greeter(Speaker self, absl::string_view secret)
    : self_(std::move(self)),
      self_text_(ToText(self_)),
      secret_sha256_(secret.empty() ? "" : FingerprintOf(absl::BytesToHexString(secret))) {}

absl::Status Greeter::Greet(grpc::ServerContextBase& context,
                            absl::string_view usual_client) const {
  context.AddInitialMetadata(kSpeakerMetadata, self_text_);
  const auto& metadata = context.client_metadata();
  const auto speaker = metadata.find(kSpeakerMetadata);
  if (speaker == metadata.end()) {
    RETURN_IF_ERROR(CheckTogether(FirstVersion(usual_client), self_));
  } else {
    const absl::StatusOr<Speaker> client =
        ParseSpeaker(absl::string_view(speaker->second.data(), speaker->second.size()));
    if (!client.ok()) return ProtocolRefusal(client.status().message());
    RETURN_IF_ERROR(CheckTogether(*client, self_));
  }
  if (secret_sha256_.empty()) return absl::OkStatus();
  const auto secret = metadata.find(kSecretMetadata);
  if (secret != metadata.end() &&
      IsFingerprintOf(secret_sha256_,
                      absl::string_view(secret->second.data(), secret->second.size()))) {
    return absl::OkStatus();
  }
  return absl::UnauthenticatedError(
      absl::StrCat("a port of this machine is open to all of its users, so the ", self_.program,
                   " there asks for the secret of its own, user ", geteuid(), ", and got ",
                   secret == metadata.end() ? "none" : "another",
                   ": call as that user, set BURNISH_LOOPBACK_SECRET to what is in that user's "
                   "~/.local/state/burnish/loopback-secret, or let it listen on a unix socket"));
}

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.error_details() == kRefusalDetail) return ProtocolRefusal(status.error_message());
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

grpc::Status ToGrpc(const absl::Status& status) {
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()),
                      IsProtocolRefusal(status) ? kRefusalDetail : "");
}

}  // namespace burnish
