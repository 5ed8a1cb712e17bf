// Models from text, and packages of them in a folder of the test's own.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "device/cpu/cpu_device.h"
#include "ir/noise.h"
#include "ops/op.h"
#include "runtime/model.h"
#include "runtime/package/package.h"
#include "runtime/session.h"
#include "tests/test_folder.h"

namespace fettle::runtime {

/// Two convolutions with a constant in a section, one in the index and a splat; any height.
inline constexpr std::string_view kConvText = R"(graph 'net'
input %x: f32[1x3x?'height'x16]
const %w: f32[16x3x3x3]
const %b: f32[16]
const %v: f32[32x16x3x3]
const %half: f32[1x32x1x1] = splat 0.5
%c = Conv(%x, %w, %b) {pads=[1,1,1,1]}
%r = Relu(%c)
%d = Conv(%r, %v) {pads=[1,1,1,1], strides=[2,2]}
%y = Mul(%d, %half)
output %y
)";

class PackageFiles : public testing::Test {
 protected:
  using Outputs = std::map<std::string, std::vector<std::byte>>;
  using ModelPtr = std::shared_ptr<const Model>;

  std::string Path(std::string_view name = "m.fettle") const { return folder_.file(name); }

  static ModelPtr FromText(std::string_view text) {
    Result<ir::Graph> graph = ops::Parse(text);
    EXPECT_TRUE(graph.ok()) << graph.status().message();
    auto model = Model::FromGraph(std::move(graph).value(), "test");
    EXPECT_TRUE(model.ok()) << model.status().message();
    return std::move(model).value();
  }

  static planner::BookEntry Entry(const std::string& device) {
    planner::BookEntry entry;
    entry.key.structure = 1;
    entry.key.graph = 2;
    entry.key.device = device;
    entry.key.threads = 3;
    entry.text = "text\nof it";
    return entry;
  }

  PackageInfo Info() const { return PackageInfo::For(device_, 2); }

  /// Outputs on seeded noise; inputs of the shapes in `shapes`, others of their own.
  static Result<Outputs> Run(const ModelPtr& model, const std::map<std::string, Shape>& shapes = {},
                             const SessionOptions& options = {.threads = 2}) {
    ASSIGN_OR_RETURN(auto session, Session::Create(model, options));
    return RunOn(*session, shapes);
  }

  static Result<Outputs> RunOn(Session& session, const std::map<std::string, Shape>& shapes) {
    ir::Graph graph = session.model().graph();
    for (ir::ValueId id : graph.inputs) {
      const auto shape = shapes.find(graph.value(id).name);
      if (shape != shapes.end()) graph.value(id).shape = shape->second;
    }
    ASSIGN_OR_RETURN(const std::vector<Tensor> noise, ir::NoiseInputs(graph, 7));
    TensorMap inputs, results;
    for (size_t i = 0; i < noise.size(); ++i)
      inputs.emplace(graph.value(graph.inputs[i]).name, noise[i]);
    RETURN_IF_ERROR(session.Run(inputs, &results));
    Outputs outputs;
    for (const auto& [name, tensor] : results)
      outputs[name].assign(tensor.bytes().begin(), tensor.bytes().end());
    return outputs;
  }

  static std::vector<std::byte> ReadBytes(const std::string& path) {
    const auto file = MappedFile::Open(path);
    EXPECT_TRUE(file.ok()) << file.status().message();
    return {(*file)->bytes().begin(), (*file)->bytes().end()};
  }

  TestFolder folder_;
  CpuDevice device_{std::make_shared<ThreadPool>(2)};
};

}  // namespace fettle::runtime
