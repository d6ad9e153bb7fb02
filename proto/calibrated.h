// A device model with what was measured of one machine.
#ifndef PROTO_CALIBRATED_H_
#define PROTO_CALIBRATED_H_

#include <optional>

#include "compiler/target/device_model.h"
#include "proto/calibration_row.h"

namespace burnish {

// The machine's own rates in the place of the table's, as far as `row` has them. What the row does
// not know (shapes, sizes, latencies of units) stays.
DeviceModel Calibrated(DeviceModel model, const CalibrationRow& row);

// Of a machine with `row`; without one, by the table.
DeviceModel DeviceModelOf(const Target& target, const std::optional<CalibrationRow>& row);

}  // namespace burnish

#endif  // PROTO_CALIBRATED_H_
