#include "worker/runner/runner_wire.h"

#include <bit>

#include "compiler/runtime/byte_archive.h"

namespace burnish {
namespace {

void Real(ByteWriter& archive, const double& value) {
  // As bits: exact, and NaN stays NaN.
  archive.Number(std::bit_cast<uint64_t>(value));
}
void Real(ByteReader& archive, double& value) {
  uint64_t bits = 0;
  archive.Number(bits);
  value = std::bit_cast<double>(bits);
}

}  // namespace

template <typename Archive>
void Fields(Archive& archive, TensorSpec& spec) {
  archive.Number(spec.role);
  archive.Number(spec.type);
  archive.Numbers(spec.shape);
  archive.Numbers(spec.strides);
  archive.Numbers(spec.border_below);
  archive.Numbers(spec.border_above);
  Real(archive, spec.border_value);
  archive.Number(spec.offset);
  archive.Number(spec.low);
  archive.Number(spec.high);
}

template <typename Archive>
void Fields(Archive& archive, KernelSpec& kernel) {
  archive.Text(kernel.artifact);
  archive.List(kernel.parameters);
}

template <typename Archive>
void Fields(Archive& archive, TimingSpec& timing) {
  archive.Number(timing.warm_up_ns);
  archive.Number(timing.repeat_min_ns);
  archive.Number(timing.repeat_count_min);
  archive.Number(timing.repeat_count_max);
  archive.Number(timing.near_ns);
  archive.Number(timing.stop_above_ns);
  archive.Number(timing.arena_bytes);
  archive.Numbers(timing.lock_descriptors);
  archive.Number(timing.pace_descriptor);
}

template <typename Archive>
void Fields(Archive& archive, NetworkSpec& network) {
  archive.List(network.kernels);
  archive.Number(network.step_count);
  archive.Number(network.warm_up_pass_count);
  archive.Numbers(network.order);
}

template <typename Archive>
void Fields(Archive& archive, RunnerRequest& request) {
  Fields(archive, request.candidate);
  archive.List(request.reference);
  archive.Number(request.seed);
  archive.Number(request.thread_count);
  archive.Numbers(request.cpus);
  archive.Number(request.memory_bytes_max);
  Fields(archive, request.timing);
  Fields(archive, request.network);
}

template <typename Archive>
void Fields(Archive& archive, RunnerTiming& timing) {
  archive.Numbers(timing.latency_ns);
  archive.Number(timing.inner_count);
  archive.Number(timing.warm_up_count);
  archive.Number(timing.reference_before_ns);
  archive.Number(timing.reference_after_ns);
  archive.Number(timing.probe_before_ns);
  archive.Number(timing.probe_after_ns);
  archive.Number(timing.steal_ns);
  archive.Number(timing.throttle_count);
  archive.Number(timing.involuntary_switch_count);
  archive.Number(timing.page_fault_count);
  archive.Number(timing.huge_page_bytes);
  archive.Number(timing.vector_bytes);
  archive.Number(timing.stopped_early);
  archive.Number(timing.cold_constants);
}

template <typename Archive>
void Fields(Archive& archive, RunnerReply& reply) {
  archive.Number(reply.event);
  archive.Number(reply.failure);
  archive.Text(reply.message);
  archive.Numbers(reply.output_bases);
  Fields(archive, reply.timing);
  archive.Numbers(reply.step_ns);
}

template <typename Archive>
void Fields(Archive& archive, CheckerRequest& request) {
  archive.Number(request.call);
  archive.Text(request.workload);
  archive.Text(request.contract);
  archive.Number(request.seed);
  archive.Text(request.reference_id);
  archive.Number(request.is_reference);
  Real(archive, request.bound);
  archive.Numbers(request.output_bases);
}

template <typename Archive>
void Fields(Archive& archive, CheckerReply& reply) {
  archive.Number(reply.verdict);
  archive.Text(reply.message);
  archive.List(reply.parameters);
  Real(archive, reply.error);
}

namespace {

template <typename Message>
std::string EncodeMessage(const Message& message) {
  ByteWriter writer;
  // Fields are listed once for both directions, and writing changes nothing.
  Fields(writer, const_cast<Message&>(message));
  return writer.Take();
}

template <typename Message>
std::optional<Message> DecodeMessage(std::span<const uint8_t> bytes) {
  ByteReader reader(bytes);
  Message message;
  Fields(reader, message);
  // A reply comes from a process that has run generated code: any bytes may come.
  if (!reader.ok() || !reader.AtEnd()) return std::nullopt;
  return message;
}

}  // namespace

std::string EncodeFrame(const RunnerRequest& request) { return EncodeMessage(request); }
std::string EncodeFrame(const RunnerReply& reply) { return EncodeMessage(reply); }
std::string EncodeFrame(const CheckerRequest& request) { return EncodeMessage(request); }
std::string EncodeFrame(const CheckerReply& reply) { return EncodeMessage(reply); }

std::optional<RunnerRequest> DecodeRunnerRequest(std::span<const uint8_t> bytes) {
  std::optional<RunnerRequest> request = DecodeMessage<RunnerRequest>(bytes);
  // A list because there may be none.
  if (request.has_value() && request->reference.size() > 1) return std::nullopt;
  return request;
}
std::optional<RunnerReply> DecodeRunnerReply(std::span<const uint8_t> bytes) {
  std::optional<RunnerReply> reply = DecodeMessage<RunnerReply>(bytes);
  if (!reply.has_value() || reply->event < RunnerEvent::kOutputs ||
      reply->event > RunnerEvent::kFailed) {
    return std::nullopt;
  }
  const bool is_known = reply->failure == RunnerFailure::kRunError ||
                        reply->failure == RunnerFailure::kWrongResult ||
                        reply->failure == RunnerFailure::kOutOfMemory;
  if (reply->event == RunnerEvent::kFailed && !is_known) return std::nullopt;
  return reply;
}
std::optional<CheckerRequest> DecodeCheckerRequest(std::span<const uint8_t> bytes) {
  return DecodeMessage<CheckerRequest>(bytes);
}
std::optional<CheckerReply> DecodeCheckerReply(std::span<const uint8_t> bytes) {
  std::optional<CheckerReply> reply = DecodeMessage<CheckerReply>(bytes);
  // Whoever reads a verdict takes what is none of the bad ones for a good one.
  if (!reply.has_value() || reply->verdict < CheckerVerdict::kOk ||
      reply->verdict > CheckerVerdict::kRefused) {
    return std::nullopt;
  }
  return reply;
}

}  // namespace burnish
