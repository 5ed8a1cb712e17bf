// What new shapes cost: a session runs a model at one random size after the other, each three
// times. Prints a line for each size: the inputs' shapes, and microseconds of the first run and of
// the faster one of the two that follow; on stderr why sizes are planned anew. Usage:
// shapes_bench MODEL THREADS COUNT SEED
// INPUT=EXTENTS... EXTENTS: joined by x; each is N, or LEAST..MOST or LEAST..MOST/STEP, drawn anew
// for each size. Inputs that begin with the same range take its draw where it is written as =N (the
// N-th drawn).
#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "ir/noise.h"
#include "runtime/session.h"

namespace {

using namespace fettle;  // NOLINT: a program of one file

struct Range {
  int64_t least = 1, most = 1, step = 1;
  int as_draw = -1;  // the draw that it repeats
};

int64_t NumberAt(std::string_view& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) std::abort();
  text.remove_prefix(end - text.data());
  return value;
}

bool Skip(std::string_view& text, std::string_view what) {
  if (!text.starts_with(what)) return false;
  text.remove_prefix(what.size());
  return true;
}

std::vector<Range> RangesOf(std::string_view text) {
  std::vector<Range> ranges;
  while (!text.empty()) {
    Range& range = ranges.emplace_back();
    if (Skip(text, "=")) {
      range.as_draw = static_cast<int>(NumberAt(text));
    } else {
      range.least = range.most = NumberAt(text);
      if (Skip(text, "..")) range.most = NumberAt(text);
      if (Skip(text, "/")) range.step = NumberAt(text);
    }
    if (!Skip(text, "x")) break;
  }
  return ranges;
}

using Ranges = std::vector<std::pair<std::string, std::vector<Range>>>;

std::map<std::string, Shape> Draw(const Ranges& inputs, std::mt19937_64& random) {
  std::vector<int64_t> draws;
  std::map<std::string, Shape> shapes;
  for (const auto& [name, ranges] : inputs) {
    Dims extents;
    for (const Range& range : ranges) {
      if (range.as_draw >= 0) {
        extents.push_back(draws.at(range.as_draw));
        continue;
      }
      const int64_t choices = (range.most - range.least) / range.step + 1;
      extents.push_back(range.least + range.step * static_cast<int64_t>(random() % choices));
      if (choices > 1) draws.push_back(extents.back());
    }
    shapes.emplace(name, Shape(std::move(extents)));
  }
  return shapes;
}

double RunUs(runtime::Session& session, const runtime::TensorMap& inputs) {
  runtime::TensorMap outputs;
  const int64_t begin = NowNs();
  const Status status = session.Run(inputs, &outputs);
  const int64_t end = NowNs();
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.message().c_str());
    std::exit(1);
  }
  return 1e-3 * static_cast<double>(end - begin);
}

runtime::TensorMap Inputs(const runtime::Model& model, const std::map<std::string, Shape>& shapes) {
  ir::Graph graph = model.graph();
  for (ir::ValueId id : graph.inputs)
    if (const auto shape = shapes.find(graph.value(id).name); shape != shapes.end())
      graph.value(id).shape = shape->second;
  const std::vector<Tensor> tensors = ir::NoiseInputs(graph, 1).value();
  runtime::TensorMap inputs;
  for (size_t i = 0; i < tensors.size(); ++i)
    inputs.emplace(graph.value(graph.inputs[i]).name, tensors[i]);
  return inputs;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) {
    std::fprintf(stderr, "usage: shapes_bench MODEL THREADS COUNT SEED INPUT=EXTENTS...\n");
    return 2;
  }
  Ranges ranges;
  for (int i = 5; i < argc; ++i) {
    const std::string_view text = argv[i];
    const size_t at = text.find('=');
    ranges.emplace_back(text.substr(0, at), RangesOf(text.substr(at + 1)));
  }
  SetLogSink(
      [](LogLevel, std::string_view line) {
        std::fflush(stdout);
        std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
      },
      LogLevel::kInfo);
  auto model = runtime::Model::Load(argv[1]).value();
  auto session = runtime::Session::Create(model, {.threads = std::atoi(argv[2])}).value();
  std::mt19937_64 random(std::atoi(argv[4]));
  for (int i = 0; i < std::atoi(argv[3]); ++i) {
    const std::map<std::string, Shape> shapes = Draw(ranges, random);
    const runtime::TensorMap inputs = Inputs(*model, shapes);
    const double first = RunUs(*session, inputs), second = RunUs(*session, inputs),
                 third = RunUs(*session, inputs);
    std::string text;
    for (const auto& [name, shape] : shapes)
      text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, shape.ToString());
    std::printf("%s %.1f %.1f\n", text.c_str(), first, std::min(second, third));
  }
  const exec::PreparationTimes& times = session->preparation();
  std::fprintf(stderr, "%.1f us of plans, %.1f of kernels, %.1f of weights\n",
               1e-3 * static_cast<double>(times.plan_ns) / std::atoi(argv[3]),
               1e-3 * static_cast<double>(times.kernels_ns) / std::atoi(argv[3]),
               1e-3 * static_cast<double>(times.weights_ns) / std::atoi(argv[3]));
  return 0;
}
