#include "proto/compile.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "proto/compile.pb.h"

namespace burnish {
namespace {

template <typename Message>
absl::Status Parse(absl::string_view bytes, absl::string_view what, Message* message) {
  if (message->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("got bytes that are no ", what));
}

void AddBuffers(const std::vector<CallBuffer>& buffers,
                google::protobuf::RepeatedPtrField<v1::CallBuffer>* messages) {
  for (const CallBuffer& buffer : buffers) {
    v1::CallBuffer* const message = messages->Add();
    message->set_packed(buffer.kind == CallBuffer::Kind::kPacked);
    message->set_live(buffer.kind == CallBuffer::Kind::kLive);
    message->set_strides(buffer.kind == CallBuffer::Kind::kStrides);
    message->set_index(buffer.index);
  }
}

std::vector<CallBuffer> BuffersFrom(
    const google::protobuf::RepeatedPtrField<v1::CallBuffer>& messages) {
  std::vector<CallBuffer> buffers;
  for (const v1::CallBuffer& message : messages) {
    buffers.push_back({.kind = message.packed()    ? CallBuffer::Kind::kPacked
                               : message.live()    ? CallBuffer::Kind::kLive
                               : message.strides() ? CallBuffer::Kind::kStrides
                                                   : CallBuffer::Kind::kParameter,
                       .index = message.index()});
  }
  return buffers;
}

void FillMessage(const CompiledKernel& kernel, v1::CompiledKernel* message) {
  // Facts travel as they do within a measurement.
  Measurement measurement;
  measurement.build = kernel.build;
  v1::Measurement facts = ToProto(measurement);
  message->mutable_build()->Swap(facts.mutable_build());
  *message->mutable_numerics() = ToProto(kernel.numerics);
  message->set_artifact(kernel.artifact);
  message->set_text(kernel.text);
  message->set_contract(kernel.contract);
  AddBuffers(kernel.buffers, message->mutable_buffers());
  AddBuffers(kernel.pack_buffers, message->mutable_pack_buffers());
  message->set_kernel_index(kernel.kernel_index);
  message->set_pack_index(kernel.pack_index);
  message->set_pack_sha256(kernel.pack_sha256);
}

absl::StatusOr<CompiledKernel> KernelFrom(const v1::CompiledKernel& message) {
  v1::Measurement facts;
  *facts.mutable_build() = message.build();
  facts.mutable_failure()->set_kind(v1::Failure::BUILD_ERROR);  // A measurement has an outcome.
  ASSIGN_OR_RETURN(Measurement measurement, FromProto(facts));
  return CompiledKernel{.build = std::move(measurement.build),
                        .numerics = FromProto(message.numerics()),
                        .artifact = message.artifact(),
                        .text = message.text(),
                        .contract = message.contract(),
                        .buffers = BuffersFrom(message.buffers()),
                        .pack_buffers = BuffersFrom(message.pack_buffers()),
                        .kernel_index = message.kernel_index(),
                        .pack_index = message.pack_index(),
                        .pack_sha256 = message.pack_sha256()};
}

// Abseil has codes of its own beside the listed ones; an error never becomes OK.
int32_t NumberOf(absl::StatusCode code) {
  const bool is_listed =
      code >= absl::StatusCode::kCancelled && code <= absl::StatusCode::kUnauthenticated;
  return static_cast<int32_t>(is_listed ? code : absl::StatusCode::kUnknown);
}

absl::StatusOr<absl::StatusCode> StatusCodeFrom(int32_t number) {
  if (number < static_cast<int32_t>(absl::StatusCode::kCancelled) ||
      number > static_cast<int32_t>(absl::StatusCode::kUnauthenticated)) {
    return absl::InvalidArgumentError(
        absl::StrCat("compile reply: got status code ", number, ", want 1 to 16"));
  }
  return static_cast<absl::StatusCode>(number);
}

}  // namespace

std::string Encode(const CompileRequest& request) {
  v1::CompileRequest message;
  for (const CompileItem& item : request.items) {
    v1::CompileItem* const added = message.add_items();
    added->set_id(item.id);
    added->set_workload(item.workload);
    added->set_contract(item.contract);
    added->set_trace(item.trace);
    for (const int axis : item.guarded_axes) added->add_guarded_axes(axis);
    for (const ParameterRest& rest : item.rests) {
      v1::ParameterRest* const added_rest = added->add_rests();
      added_rest->set_parameter(rest.parameter);
      added_rest->set_axis(rest.axis);
      added_rest->set_value(rest.value);
      added_rest->set_extent(rest.extent);
    }
    for (const ParameterStrides& strides : item.strides) {
      v1::ParameterStrides* const added_strides = added->add_strides();
      added_strides->set_parameter(strides.parameter);
      for (const int number : strides.numbers) added_strides->add_numbers(number);
    }
  }
  message.set_target(request.target);
  message.set_codegen_epoch(request.codegen_epoch);
  message.set_output(static_cast<v1::CompileRequest::Output>(request.output));
  message.set_pack_target(request.pack_target);
  message.set_form(request.form);
  message.set_time_limit_ns(absl::ToInt64Nanoseconds(request.time_limit));
  message.set_memory_limit_bytes(request.memory_limit_bytes);
  return message.SerializeAsString();
}

std::string Encode(const absl::StatusOr<CompileReply>& reply) {
  v1::CompileReply message;
  if (!reply.ok()) {
    message.set_status_code(NumberOf(reply.status().code()));
    message.set_status_message(std::string(reply.status().message()));
    return message.SerializeAsString();
  }
  for (const CompileResult& result : reply->results) {
    v1::CompileResult* const added = message.add_results();
    added->set_id(result.id);
    if (const auto* kernel = std::get_if<CompiledKernel>(&result.outcome)) {
      FillMessage(*kernel, added->mutable_kernel());
    } else {
      *added->mutable_failure() = ToProto(std::get<Failure>(result.outcome));
    }
  }
  message.set_library(reply->library);
  message.set_pack_library(reply->pack_library);
  return message.SerializeAsString();
}

absl::StatusOr<CompileRequest> DecodeCompileRequest(absl::string_view bytes) {
  v1::CompileRequest message;
  RETURN_IF_ERROR(Parse(bytes, "compile request", &message));
  if (message.output() < v1::CompileRequest::ARTIFACT_EACH ||
      message.output() > v1::CompileRequest::TEXT) {
    return absl::InvalidArgumentError(
        absl::StrCat("compile request: got output=", message.output(), ", want 1 to 3"));
  }
  if (message.time_limit_ns() <= 0 || message.memory_limit_bytes() < 0) {
    return absl::InvalidArgumentError("compile request: got no time limit, or a negative one");
  }
  CompileRequest request{.target = message.target(),
                         .codegen_epoch = message.codegen_epoch(),
                         .output = static_cast<CompileOutput>(message.output()),
                         .pack_target = message.pack_target(),
                         .form = message.form(),
                         .time_limit = absl::Nanoseconds(message.time_limit_ns()),
                         .memory_limit_bytes = message.memory_limit_bytes()};
  for (const v1::CompileItem& item : message.items()) {
    request.items.push_back(
        {.id = item.id(),
         .workload = item.workload(),
         .contract = item.contract(),
         .trace = item.trace(),
         .guarded_axes = {item.guarded_axes().begin(), item.guarded_axes().end()}});
    for (const v1::ParameterRest& rest : item.rests()) {
      request.items.back().rests.push_back({.parameter = rest.parameter(),
                                            .axis = rest.axis(),
                                            .value = rest.value(),
                                            .extent = rest.extent()});
    }
    for (const v1::ParameterStrides& strides : item.strides()) {
      request.items.back().strides.push_back(
          {.parameter = strides.parameter(),
           .numbers = {strides.numbers().begin(), strides.numbers().end()}});
    }
  }
  return request;
}

absl::StatusOr<CompileReply> DecodeCompileReply(absl::string_view bytes) {
  v1::CompileReply message;
  RETURN_IF_ERROR(Parse(bytes, "compile reply", &message));
  if (message.status_code() != 0) {
    ASSIGN_OR_RETURN(const absl::StatusCode code, StatusCodeFrom(message.status_code()));
    return absl::Status(code, message.status_message());
  }
  CompileReply reply;
  for (const v1::CompileResult& result : message.results()) {
    CompileResult& added = reply.results.emplace_back();
    added.id = result.id();
    if (result.has_kernel()) {
      ASSIGN_OR_RETURN(added.outcome, KernelFrom(result.kernel()));
    } else if (result.has_failure()) {
      ASSIGN_OR_RETURN(added.outcome, FromProto(result.failure()));
    } else {
      return absl::InvalidArgumentError("compile reply: got a result without outcome");
    }
  }
  reply.library = std::move(*message.mutable_library());
  reply.pack_library = std::move(*message.mutable_pack_library());
  return reply;
}

}  // namespace burnish
