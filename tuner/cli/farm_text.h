// A farm's workers for people and programs.
#ifndef TUNER_CLI_FARM_TEXT_H_
#define TUNER_CLI_FARM_TEXT_H_

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tuner/app/farm_client.h"

namespace burnish {

// A line for each slot of each worker. `columns`: see TextTable::ToText.
std::string WorkersText(const std::vector<FarmWorker>& workers, int columns);
// All that is known of `worker`, one of `workers`, in sections.
std::string WorkerText(const std::vector<FarmWorker>& workers, const FarmWorker& worker,
                       int columns);
nlohmann::ordered_json WorkerJson(const std::vector<FarmWorker>& workers, const FarmWorker& worker);

}  // namespace burnish

#endif  // TUNER_CLI_FARM_TEXT_H_
