// Kernels that are fixed launches: everything but the operands' places is known once prepared.
#pragma once

#include <map>
#include <variant>
#include <vector>

#include "kernels/launch_tunables.h"
#include "kernels/opencl/expression/expression.h"
#include "kernels/opencl/launch.h"
#include "kernels/packed_images.h"

namespace fettle::kernels {

/// One launch: a function, its sizes and its arguments in order. Operands are the memory and an
/// offset as an int in units of `unit_bytes` (ArgList::Tensor); 0 bytes: the memory alone.
class RecordedLaunch {
 public:
  RecordedLaunch(std::shared_ptr<OpenClKernel> kernel, const WorkSizes& sizes)
      : kernel_(std::move(kernel)), sizes_(sizes) {}

  RecordedLaunch& Input(size_t i, int64_t unit_bytes) {
    return Add(Operand::kInput, i, unit_bytes);
  }
  RecordedLaunch& Output(size_t i, int64_t unit_bytes) {
    return Add(Operand::kOutput, i, unit_bytes);
  }
  RecordedLaunch& Packed(size_t i, int64_t unit_bytes) {
    return Add(Operand::kPacked, i, unit_bytes);
  }
  /// The workspace from `offset` bytes on.
  RecordedLaunch& Workspace(int64_t offset, int64_t unit_bytes) {
    return Add(Operand::kWorkspace, static_cast<size_t>(offset), unit_bytes);
  }
  /// OpenClStream::tickets.
  RecordedLaunch& Tickets() { return Add(Operand::kTickets, 0, 0); }
  template <typename T>
  RecordedLaunch& Value(const T& value) {
    args_.emplace_back(KernelArg(value));
    return *this;
  }
  /// As cl_int, which it must fit in.
  RecordedLaunch& Int(int64_t value) { return Value(static_cast<cl_int>(value)); }

 private:
  friend class RecordedKernel;
  friend class LaunchParams;
  struct Operand {
    enum Kind : uint8_t { kInput, kOutput, kPacked, kWorkspace, kTickets } kind;
    size_t index;  // of the workspace: bytes
    int64_t unit_bytes;
  };
  static Location Find(const Operand& operand, const LaunchArgs& args);
  RecordedLaunch& Add(Operand::Kind kind, size_t index, int64_t unit_bytes) {
    args_.emplace_back(Operand{kind, index, unit_bytes});
    return *this;
  }

  std::shared_ptr<OpenClKernel> kernel_;
  WorkSizes sizes_;
  std::vector<std::variant<KernelArg, Operand>> args_;
};

/// Launches one after the other. The arguments of `expression`, if there is one, follow those of
/// the last launch; its packs follow the kernel's own.
class RecordedKernel final : public PreparedKernel, public TunableLaunches, public PacksImages {
 public:
  std::vector<RecordedLaunch> recorded;
  std::vector<PackRequest> own_packs;
  std::map<size_t, MemoryRequest> images;  // what own_packs are that are no buffers
  std::vector<Alias> views;
  int64_t workspace = 0;  // bytes
  Expression expression;
  /// Adds an operand in a row-major buffer to a launch: bound, or a constant packed as `storage`.
  /// Offsets count elements.
  void AddRows(const ir::Graph& group, ir::ValueId id, DType storage, RecordedLaunch& launch);

  std::vector<PackRequest> packs() const override;
  const MemoryRequest* packed_image(size_t i) const override {
    const auto at = images.find(i);
    return at == images.end() ? nullptr : &at->second;
  }
  int64_t workspace_bytes() const override { return workspace; }
  std::vector<Alias> aliases() const override { return views; }
  std::vector<Tunable> launch_tunables() const override;
  Status CheckLaunch(const Params& params) const override;
  std::vector<RuleParams> launch_rules() const override;
  Status Adopt(const Params& params, const Device& device) override;
  Status Launch(const LaunchArgs& args) const override;
};

}  // namespace fettle::kernels
