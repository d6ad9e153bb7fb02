// Devices for tests of what works on any of them, and the rules that each must keep.
#ifndef COMPILER_TARGET_TEST_DEVICE_MODELS_H_
#define COMPILER_TARGET_TEST_DEVICE_MODELS_H_

#include <string>
#include <vector>

#include "compiler/target/device_model.h"

namespace burnish {

// Like a GPU: blocks of warps of 32 lanes, shared memory, an MMA unit of a warp and one of four
// warps. The numbers are of the order of an H100's data sheet; nobody measured them.
DeviceModel GpuLikeDevice();

// Like two cores of an ARM server: vectors of 16 bytes, and an instruction for sums of four
// products of signed bytes that no x86 has. Both are rows of instructions beside those of the
// table. The numbers are of the order of a Neoverse N1's optimization guide; nobody measured them.
DeviceModel NeonDevice();

// Two cores with AMX: vectors of 16 floats, tiles of 16 x 64 bytes.
DeviceModel AmxDevice();

// What is wrong with `model`, a line each; empty: nothing.
std::vector<std::string> BrokenRules(const DeviceModel& model);

}  // namespace burnish

#endif  // COMPILER_TARGET_TEST_DEVICE_MODELS_H_
