// A model on an OpenCL device whose driver a benchmark watches.
#pragma once

#include <algorithm>
#include <memory>
#include <string>

#include "device/opencl/opencl_device.h"
#include "kernels/opencl/probe/mma.h"
#include "runtime/session.h"

namespace fettle::bench {

struct OpenClSession {
  std::shared_ptr<OpenClDevice> device;
  std::unique_ptr<runtime::Session> session;
  runtime::TensorMap inputs;  // zeros of the default shapes
};

inline Result<runtime::TensorMap> ZerosFor(const runtime::Model& model) {
  std::vector<std::string> unread;
  ASSIGN_OR_RETURN(const auto shapes, runtime::DefaultShapes(model, {}, &unread));
  runtime::TensorMap inputs;
  for (ir::ValueId id : model.graph().inputs) {
    const ir::Value& input = model.graph().value(id);
    ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(input.dtype, shapes.at(input.name)));
    std::fill_n(tensor.data(), tensor.bytes().size(), std::byte{0});
    inputs.emplace(input.name, std::move(tensor));
  }
  return inputs;
}

/// The model at `path` on the device that `device_name` names, before anything is measured.
inline Result<OpenClSession> OpenSession(const std::string& path, const std::string& device_name,
                                         const OpenClOptions& options,
                                         planner::Precision precision = planner::Precision::kHigh) {
  OpenClSession opened;
  ASSIGN_OR_RETURN(opened.device, OpenClDevice::Open(device_name, options));
  if (const Result<MmaFacts> mma = kernels::ProbeMma(*opened.device); mma.ok())
    opened.device->Learn(*mma);
  ASSIGN_OR_RETURN(const auto model, runtime::Model::Load(path));
  ASSIGN_OR_RETURN(opened.inputs, ZerosFor(*model));
  ASSIGN_OR_RETURN(opened.session, runtime::Session::Create(model, {.accelerators = {opened.device},
                                                                    .precision = precision}));
  return opened;
}

}  // namespace fettle::bench
