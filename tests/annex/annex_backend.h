// The kernels of AnnexDevice: the oracles of a few operators, row-major, f32.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "kernels/cost_text.h"
#include "ops/op.h"
#include "tests/annex/annex_device.h"

namespace fettle::kernels {

inline State AnnexState() { return {.device = kAnnex, .memory = MemoryKind::kBuffer}; }

class AnnexKernel final : public PreparedKernel {
 public:
  explicit AnnexKernel(std::shared_ptr<const ir::Graph> group) : group_(std::move(group)) {
    for (ir::ValueId id : group_->nodes()[0].inputs) {
      if (id != ir::kAbsent && group_->value(id).is_constant() &&
          std::ranges::find(constants_, id) == constants_.end())
        constants_.push_back(id);
    }
  }

  std::vector<PackRequest> packs() const override {
    std::vector<PackRequest> requests;
    for (ir::ValueId id : constants_) {
      requests.push_back({{id},
                          "annex.row",
                          group_->value(id).constant->elements() * 4,
                          [](std::span<const Constant* const> constants, std::byte* out) {
                            constants[0]->CopyTo(0, constants[0]->elements(), out);
                            return OkStatus();
                          }});
    }
    return requests;
  }

  Status Launch(const LaunchArgs& args) const override {
    if (group_->nodes()[0].op == FaultsOfAnnex().deadly_op) FaultsOfAnnex().is_lost = true;
    RETURN_IF_ERROR(FaultsOfAnnex().Check());
    std::vector<std::pair<ir::ValueId, Location>> places;
    const auto add = [&](const std::vector<ir::ValueId>& ids, std::span<const Location> locations) {
      for (size_t i = 0; i < ids.size(); ++i) places.emplace_back(ids[i], locations[i]);
    };
    add(constants_, args.packed);
    add(group_->inputs, args.inputs);
    add(group_->outputs, args.outputs);
    static_cast<AnnexStream&>(args.stream).Enqueue([group = group_, places] {
      const ir::Node& node = group->nodes()[0];
      const auto view = [&](ir::ValueId id) {
        if (id == ir::kAbsent) return HostView();
        const auto place = std::ranges::find(places, id, [](const auto& p) { return p.first; });
        const ir::Value& value = group->value(id);
        return HostView{AnnexMemory::At(place->second), value.dtype, *value.shape,
                        RowMajorStrides(*value.shape)};
      };
      std::vector<HostView> inputs, outputs;
      for (ir::ValueId id : node.inputs) inputs.push_back(view(id));
      for (ir::ValueId id : node.outputs) outputs.push_back(view(id));
      return ops::OperatorOf(node).reference({node, inputs, outputs},
                                             {0, outputs[0].shape.elements()});
    });
    return OkStatus();
  }

 private:
  std::shared_ptr<const ir::Graph> group_;
  std::vector<ir::ValueId> constants_;
};

class AnnexMatch final : public Match {
 public:
  AnnexMatch(std::shared_ptr<const ir::Graph> group, const AnnexDevice& device)
      : group_(std::move(group)),
        device_(device),
        states_{{std::vector<State>(group_->inputs.size(), AnnexState()),
                 std::vector<State>(group_->outputs.size(), AnnexState())}} {}
  std::span<const StateAssignment> states() const override { return states_; }
  ParamSpace params(int, int) const override { return {}; }
  Result<std::unique_ptr<PreparedKernel>> Prepare(const Setting&) const override {
    RETURN_IF_ERROR(device_.programs().Get(std::string(group_->nodes()[0].op.name())).status());
    return std::unique_ptr<PreparedKernel>(new AnnexKernel(group_));
  }

 private:
  std::shared_ptr<const ir::Graph> group_;
  const AnnexDevice& device_;
  std::vector<StateAssignment> states_;
};

/// How often the annex's kernels were asked about each group: by the operator of the kernel and the
/// group as the catalogue tells kinds apart.
inline std::map<std::string, int>& AnnexMatches() {
  static std::map<std::string, int> matches;
  return matches;
}

template <const char* kOp>
Result<std::unique_ptr<const Match>> MatchAnnex(std::shared_ptr<const ir::Graph> group,
                                                const Device& device) {
  ++AnnexMatches()[std::string(kOp) + ": " + PrintCosts(*group)];
  if (group->nodes().size() != 1 || group->nodes()[0].op != kOp)
    return Unsupported("computes one {}", kOp);
  for (const ir::Value& value : group->values())
    if (value.dtype != DType::kF32) return Unsupported("computes f32 alone");
  return std::unique_ptr<const Match>(
      new AnnexMatch(std::move(group), static_cast<const AnnexDevice&>(device)));
}

inline constexpr char kAnnexConvOp[] = "Conv", kAnnexReluOp[] = "Relu", kAnnexAddOp[] = "Add";
inline const KernelDesc kAnnexConv = {.name = "annex.conv", .match = MatchAnnex<kAnnexConvOp>};
inline const KernelDesc kAnnexRelu = {.name = "annex.relu", .match = MatchAnnex<kAnnexReluOp>};
inline const KernelDesc kAnnexAdd = {.name = "annex.add", .match = MatchAnnex<kAnnexAddOp>};

/// Bytes as they are, to the annex or back.
class AnnexTransfer final : public PreparedKernel {
 public:
  AnnexTransfer(int64_t bytes, bool to_annex) : bytes_(bytes), to_annex_(to_annex) {}
  Status Launch(const LaunchArgs& args) const override {
    const Location& apart = to_annex_ ? args.outputs[0] : args.inputs[0];
    const auto& memory = *static_cast<const AnnexMemory*>(apart.base);
    if (to_annex_)
      return args.stream.Write(memory, apart.offset, args.inputs[0].host<std::byte>(), bytes_);
    return args.stream.Read(args.outputs[0].host<std::byte>(), memory, apart.offset, bytes_);
  }

 private:
  int64_t bytes_;
  bool to_annex_;
};

inline Status CheckAnnexConversion(const Shape&, const State& from, const State& to) {
  const bool crosses = from.device != to.device;
  const bool plain = from.layout == Layout() && to.layout == Layout() && from.storage == to.storage;
  return crosses && plain ? OkStatus() : Unsupported("the annex passes on row-major tensors alone");
}

inline const Backend& AnnexBackend() {
  static const Backend backend = {
      .name = "annex",
      .title = "Annex",
      .kernels = []() -> std::span<const KernelDesc* const> {
        static const KernelDesc* const kernels[] = {&kAnnexConv, &kAnnexRelu, &kAnnexAdd};
        return kernels;
      },
      .open = [](std::string_view, const OpenOptions&) -> Result<std::shared_ptr<const Device>> {
        return std::shared_ptr<const Device>(new AnnexDevice());
      },
      .list = []() -> Result<std::vector<ListedDevice>> {
        return std::vector<ListedDevice>{{"", "the annex", "annex 1"}};
      },
      // Faster than it is: bounds are to be bounds.
      .probe = [](const Device&, const ProbeRequest&) -> Result<std::vector<Ceiling>> {
        return std::vector<Ceiling>{FromRepeats({"fp32 fma", "FLOP/s"}, {4e12}),
                                    FromRepeats({"cached read", "B/s"}, {4e12}),
                                    FromRepeats({"launch us", "us"}, {0.01})};
      },
      .check_conversion = CheckAnnexConversion,
      .convert = [](const Shape& shape, const State& from, const State& to,
                    const Device&) -> Result<std::unique_ptr<PreparedKernel>> {
        RETURN_IF_ERROR(CheckAnnexConversion(shape, from, to));
        return std::unique_ptr<PreparedKernel>(
            new AnnexTransfer(StateBytes(shape, from), to.device == kAnnex));
      },
      .compile_elsewhere = CompileAnnexElsewhere,
      .serve_compiles = [](std::string_view) -> Result<int> { return 0; }};
  return backend;
}

}  // namespace fettle::kernels
