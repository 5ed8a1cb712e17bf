#include "tuner/cost/roofline.h"

#include <algorithm>

#include "kernels/cpu/probe/probe.h"
#include "ops/op.h"
#include "tuner/measure/measure.h"
#include "tuner/store/candidate.h"

namespace fettle::tuner {
namespace {

constexpr double kSlack = 1.1;
constexpr double kLeastLaunchUs = 0.05;
/// Elements per second that a scalar loop reaches at best: one result per cycle at 5 GHz.
constexpr double kScalarRate = 5e9;

constexpr std::string_view kNames[] = {"fp32 fma", "int8 dot", "L1 read",
                                       "L2 read",  "L3 read",  "DRAM read"};

double CeilingOr(const Ceilings& ceilings, std::string_view name, double otherwise) {
  const auto found = ceilings.find(name);
  return found == ceilings.end() || found->second <= 0 ? otherwise : found->second;
}

double OperationRate(const kernels::Work& work, const Ceilings& ceilings) {
  if (work.ceiling == "scalar") return kScalarRate;
  return CeilingOr(ceilings, work.ceiling, CeilingOr(ceilings, "fp32 fma", 1e12));
}

/// Bytes per second and core from the nearest level that holds `bytes`. Caches of a core count once
/// for each thread.
double ByteRate(double bytes, int threads, const Ceilings& ceilings, const CpuInfo& info) {
  const struct {
    int64_t size;
    int copies;
    std::string_view name;
  } levels[] = {{info.l1d_bytes, threads, "L1 read"},
                {info.l2_bytes, threads, "L2 read"},
                {info.l3_bytes, 1, "L3 read"}};
  double best = CeilingOr(ceilings, "DRAM read", 1e12);
  for (const auto& level : levels) {
    if (bytes <= static_cast<double>(level.size * level.copies))
      best = std::max(best, CeilingOr(ceilings, level.name, 0));
  }
  return best;
}

/// Whether every element of the first operand is read: not so where windows leave gaps or parts are
/// picked.
bool ReadsAll(const ir::Node& node, const ops::OpDesc& op) {
  if (op.elementwise) return true;
  if (node.op == "Conv") {
    const std::vector<int64_t> strides = node.attributes.Ints("strides");
    return std::all_of(strides.begin(), strides.end(), [](int64_t stride) { return stride == 1; });
  }
  return node.op == "MatMul" || node.op == "Gemm" || node.op == "Softmax" || node.op == "Concat";
}

/// Bytes of the group's operands that its kernels read at least once: whole inputs, and constants
/// of products in the narrowest form that they are packed in.
double LeastRead(const kernels::Problem& problem) {
  const ir::Graph& group = *problem.group;
  std::vector<bool> counted(group.values().size());
  double bytes = 0;
  for (const ir::Node& node : group.nodes()) {
    const ops::OpDesc* op = ops::Find(node.op);
    if (op == nullptr || !ReadsAll(node, *op)) continue;
    for (ir::ValueId id : node.inputs) {
      if (id == ir::kAbsent || counted[static_cast<size_t>(id)]) continue;
      counted[static_cast<size_t>(id)] = true;
      const auto input = std::find(group.inputs.begin(), group.inputs.end(), id);
      if (input != group.inputs.end()) {
        const State& state =
            problem.states.inputs[static_cast<size_t>(input - group.inputs.begin())];
        bytes += static_cast<double>(StateBytes(problem.shape(id), state));
      } else if (op->macs != nullptr && group.value(id).is_constant()) {
        const int64_t elements = problem.shape(id).elements();
        bytes += static_cast<double>(elements * ByteSize(group.value(id).dtype));
      }
    }
  }
  return bytes;
}

bool IsQuantised(const ir::Graph& group) {
  return std::any_of(group.nodes().begin(), group.nodes().end(), [](const ir::Node& node) {
    return node.op == "DequantizeLinear" || node.op.ends_with("Integer") ||
           node.op.starts_with("QLinear") || node.op.starts_with("DynamicQuantize");
  });
}

}  // namespace

RowKey CeilingKey(std::string_view name, const CpuDevice& device) {
  return {.problem = fmt::format("ceiling {}", name),
          .kernel = "probe",
          .device = std::string(device.fingerprint()),
          .protocol = kProtocol,
          .build = BuildOfPart(device, "probe")};
}

Ceilings LoadCeilings(const CpuDevice& device, Store& store) {
  Ceilings ceilings;
  for (std::string_view name : kNames) {
    const Result<Row> row = store.Find(CeilingKey(name, device));
    if (row.ok() && !row->prior && row->status == Row::Status::kOk)
      ceilings.emplace(name, row->median_us);
  }
  if (!ceilings.empty()) return ceilings;
  for (const kernels::Ceiling& ceiling : kernels::Probe(device)) {
    ceilings.emplace(ceiling.name, ceiling.value);
    store.Put(CeilingKey(ceiling.name, device), {.median_us = ceiling.value, .samples = 1});
  }
  return ceilings;
}

double CeilingMicroseconds(const kernels::Work& work, int threads, const Ceilings& ceilings,
                           const CpuInfo& info) {
  const double compute = work.operations / (OperationRate(work, ceilings) * threads);
  const double traffic = work.bytes / (ByteRate(work.bytes, threads, ceilings, info) * threads);
  return std::max(compute, traffic) * 1e6;
}

double LeastMicroseconds(const kernels::Work& work, int threads, const Ceilings& ceilings,
                         const CpuInfo& info) {
  return std::max(CeilingMicroseconds(work, threads, ceilings, info) / kSlack, kLeastLaunchUs);
}

kernels::Work WorkOf(const planner::Kind& kind, const planner::Entry& entry) {
  if (entry.match != nullptr) {
    const auto work = entry.match->work({entry.states_index, entry.threads, entry.params});
    if (work) return *work;
  }
  const kernels::KernelDesc& kernel = *entry.kernel;
  const kernels::Problem problem = kind.problem(entry);
  const ir::Graph& group = *problem.group;
  kernels::Work work;
  if (kernel.preference == 0) work.ceiling = "scalar";
  if (IsQuantised(group)) work.ceiling = "int8 dot";
  for (const ir::Node& node : group.nodes()) {
    const ops::OpDesc* op = ops::Find(node.op);
    if (op == nullptr || op->macs == nullptr) continue;
    std::vector<Shape> inputs, outputs;
    for (ir::ValueId id : node.inputs)
      inputs.push_back(id == ir::kAbsent ? Shape{0} : problem.shape(id));
    for (ir::ValueId id : node.outputs)
      outputs.push_back(id == ir::kAbsent ? Shape{0} : problem.shape(id));
    work.operations += 2 * static_cast<double>(op->macs(node, inputs, outputs));
  }
  work.bytes = LeastRead(problem);
  for (size_t i = 0; i < group.outputs.size(); ++i)
    work.bytes +=
        static_cast<double>(StateBytes(problem.shape(group.outputs[i]), problem.states.outputs[i]));
  return work;
}

}  // namespace fettle::tuner
