// What was measured of a machine, for people and for programs.
#ifndef TUNER_CLI_CALIBRATION_TEXT_H_
#define TUNER_CLI_CALIBRATION_TEXT_H_

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "compiler/target/device_model.h"
#include "proto/calibration_row.h"

namespace burnish {

// One line: "3.7 GHz, 480 GFLOP/s, memory 89 GB/s, measured 2026-11-22 10:36:32".
std::string CalibrationLine(const CalibrationRow& row);

// Tables of units, levels and exchange, with what `table`, the model of the same target without a
// row, says of each, and how far the row is from that.
std::string CalibrationText(const CalibrationRow& row, const DeviceModel& table);

nlohmann::ordered_json CalibrationJson(const CalibrationRow& row);

}  // namespace burnish

#endif  // TUNER_CLI_CALIBRATION_TEXT_H_
