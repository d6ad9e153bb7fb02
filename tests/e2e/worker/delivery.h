// A worker that builds nothing: the payload of its jobs is what it delivers. For bytes that no
// builder would make; those of anybody else the tracker does not take.
#ifndef TESTS_E2E_WORKER_DELIVERY_H_
#define TESTS_E2E_WORKER_DELIVERY_H_

#include <memory>
#include <string>

#include "proto/job.h"
#include "worker/agent/agent_client.h"

namespace burnish {

inline constexpr char kDeliverer[] = "deliverer";  // The worker's id.

// Takes the jobs that DeliveryOf makes, at the tracker of this address.
std::unique_ptr<AgentClient> StartDeliverer(const std::string& tracker);

// Its result is not a BuildResult, and says nothing.
JobSpec DeliveryOf(const std::string& artifact, const std::string& job_id);

}  // namespace burnish

#endif  // TESTS_E2E_WORKER_DELIVERY_H_
