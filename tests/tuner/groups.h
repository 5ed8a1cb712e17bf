// Groups of operators, and the device that they are measured on.
#pragma once

#include <memory>
#include <string_view>

#include "device/cpu/cpu_device.h"
#include "ir/text.h"
#include "ops/op.h"

namespace fettle::tuner {

inline const CpuDevice& TestDevice() {
  static const CpuDevice device(std::make_shared<ThreadPool>(2));
  return device;
}

/// A graph in text form with all its shapes.
inline std::shared_ptr<const ir::Graph> ParseGroup(std::string_view text) {
  ir::Graph graph = ops::Parse(text).value();
  FETTLE_CHECK(ops::InferGraph(graph).ok(), "shapes are given");
  return std::make_shared<const ir::Graph>(std::move(graph));
}

}  // namespace fettle::tuner
