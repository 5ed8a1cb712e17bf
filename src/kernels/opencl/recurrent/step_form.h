// How the steps of a recurrent layer are launched.
#pragma once

#include <algorithm>

#include "device/opencl/opencl_device.h"
#include "kernels/fields.h"
#include "kernels/opencl/launch.h"
#include "kernels/opencl/recurrent/recurrent_cell.h"

namespace fettle::kernels {

struct StepItems {
  int64_t items = 64;
  int64_t spread = 0;  // 1: a launch for each step; 2: weights stay in registers
};
inline constexpr Fields kStepFields("recurrent/steps.cl",
                                    Field{"items", &StepItems::items, {64, 16, 128, 256}, "ITEMS"},
                                    Field{"spread", &StepItems::spread, {0, 1, 2}, "SPREAD"});
inline constexpr int64_t kStepQuads = 2;  // QUADS of steps.cl

/// An item of resident.cl has a gate of a unit; its registers hold some of its weights.
struct Resident {
  explicit Resident(const RecurrentCell& cell)
      : items(DivideUp(cell.attributes.gates * cell.units(), 32) * 32),
        held(std::clamp<int64_t>((kRegisters / items - kOthers) / 4 * 4, 4, cell.units())) {}
  static constexpr int64_t kRegisters = 64 << 10, kOthers = 40, kMostItems = 512, kMostHidden = 200;
  int64_t items, held;
};

/// Without a measurement.
StepItems UsualItems(const RecurrentCell& cell, const OpenClFacts& facts);

Status CheckItems(const RecurrentCell& cell, const StepItems& form, const OpenClFacts& facts);

}  // namespace fettle::kernels
