#include "proto/rpc.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/client_interceptor.h>

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"

namespace burnish {
namespace {

// In a status's details, where the service of tuner.proto has its ErrorDetail. Not one of those: a
// message of that type begins with another byte.
constexpr char kRefusalDetail[] = "burnish-protocol-refusal";

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

// Says who calls, and looks at who answers.
class SpeakerInterceptor : public grpc::experimental::Interceptor {
 public:
  SpeakerInterceptor(const Speaker& self, absl::string_view method)
      : self_(self),
        server_(absl::StartsWith(method, "/burnish.v1.Tracker/") ? "tracker" : "tuner serve") {}

  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    using Hook = grpc::experimental::InterceptionHookPoints;
    if (methods->QueryInterceptionHookPoint(Hook::PRE_SEND_INITIAL_METADATA)) {
      methods->GetSendInitialMetadata()->emplace(kSpeakerMetadata, ToText(self_));
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
      return CheckTogether(self_, FirstVersion(server_));
    }
    const absl::StatusOr<Speaker> server = ParseSpeaker(*answer_);
    if (!server.ok()) return ProtocolRefusal(server.status().message());
    return CheckTogether(self_, *server);
  }

  const Speaker self_;
  const absl::string_view server_;
  std::optional<std::string> answer_;
};

class SpeakerInterceptorFactory : public grpc::experimental::ClientInterceptorFactoryInterface {
 public:
  explicit SpeakerInterceptorFactory(Speaker self) : self_(std::move(self)) {}
  grpc::experimental::Interceptor* CreateClientInterceptor(
      grpc::experimental::ClientRpcInfo* info) override {
    const absl::string_view method = info->method();
    if (!absl::StartsWith(method, "/burnish.v1.")) return nullptr;  // Health says nothing of it.
    return new SpeakerInterceptor(self_, method);  // gRPC deletes it with the call.
  }

 private:
  const Speaker self_;
};

}  // namespace

std::shared_ptr<grpc::Channel> OpenChannel(const std::string& address, const Speaker& self) {
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
  interceptors.push_back(std::make_unique<SpeakerInterceptorFactory>(self));
  return grpc::experimental::CreateCustomChannelWithInterceptors(
      address, grpc::InsecureChannelCredentials(), arguments, std::move(interceptors));
}

absl::Status Greet(grpc::ServerContextBase& context, const Speaker& self,
                   absl::string_view usual_client) {
  context.AddInitialMetadata(kSpeakerMetadata, ToText(self));
  const auto entry = context.client_metadata().find(kSpeakerMetadata);
  if (entry == context.client_metadata().end()) {
    return CheckTogether(FirstVersion(usual_client), self);
  }
  const absl::StatusOr<Speaker> client =
      ParseSpeaker(absl::string_view(entry->second.data(), entry->second.size()));
  if (!client.ok()) return ProtocolRefusal(client.status().message());
  return CheckTogether(*client, self);
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
