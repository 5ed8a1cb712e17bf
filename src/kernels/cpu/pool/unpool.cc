// compiled: small
// cpu.pool.unpool: MaxUnpool: zeros, and each element where its index says.
#include <algorithm>
#include <cstring>

#include "kernels/cpu/operands.h"
#include "kernels/family.h"
#include "ops/element_access.h"
#include "ops/op.h"
#include "ops/pool/op.h"

namespace fettle::kernels {
namespace {

constexpr int64_t kTaskBytes = 256 << 10;

/// `counted`: the extents that indices count in; the output has them, or more.
struct Facts {
  Shape counted, y;
  int64_t elements;
  DType dtype;
};

class Unpool final : public NodeKernel {
 public:
  Unpool(const Problem& problem, const Facts& facts)
      : NodeKernel(problem), facts_(facts), strides_(RowMajorStrides(facts.y)) {}

  /// Elements are put in order, whatever the threads: of equal indices the last one counts.
  Status Run(const CpuLaunch& args) const override {
    const std::byte* x = operands().input(args, 0);
    const auto* indices = reinterpret_cast<const int64_t*>(operands().input(args, 1));
    std::byte* y = operands().output(args, 0);
    const int64_t bytes = facts_.y.elements() * ByteSize(facts_.dtype);
    args.stream.ParallelFor((bytes + kTaskBytes - 1) / kTaskBytes, [&](int64_t task, int) {
      const int64_t begin = task * kTaskBytes;
      std::memset(y + begin, 0, std::min(kTaskBytes, bytes - begin));
    });
    const auto most = static_cast<uint64_t>(facts_.counted.elements());
    for (int64_t i = 0; i < facts_.elements; ++i) {
      if (static_cast<uint64_t>(indices[i]) >= most) {
        return InvalidArgument("index {} is outside of {}", indices[i], facts_.counted.ToString());
      }
    }
    const bool is_direct = facts_.counted == facts_.y;
    ops::DispatchElementSize(facts_.dtype, [&]<typename U>() {
      const U* from = reinterpret_cast<const U*>(x);
      U* to = reinterpret_cast<U*>(y);
      for (int64_t i = 0; i < facts_.elements; ++i)
        to[is_direct ? indices[i] : Place(indices[i])] = from[i];
    });
    return OkStatus();
  }

 private:
  /// Where in the output the element lies that `index` counts.
  int64_t Place(int64_t index) const {
    int64_t at = 0;
    for (int axis = facts_.y.rank() - 1; axis >= 0; --axis) {
      at += index % facts_.counted[axis] * strides_[axis];
      index /= facts_.counted[axis];
    }
    return at;
  }

  Facts facts_;
  Dims strides_;
};

Result<Facts> Read(const ir::Graph& group, const Device&) {
  if (group.nodes().size() != 1 || group.nodes()[0].op != "MaxUnpool"_op)
    return Unsupported("computes MaxUnpool only");
  const ir::Node& node = group.nodes()[0];
  const ir::Value& x = group.value(node.inputs[0]);
  ASSIGN_OR_RETURN(const ops::MaxUnpoolAttributes unpool, ops::ReadMaxUnpool(node, *x.shape));
  Dims counted = {(*x.shape)[0], (*x.shape)[1]};
  counted.insert(counted.end(), unpool.output.begin(), unpool.output.end());
  return Facts{Shape(counted), *group.value(node.outputs[0]).shape, x.shape->elements(), x.dtype};
}

constexpr Family<Facts> kFamily{.read = Read,
                                .states = RowMajorAlone,
                                .prepare = Make<Unpool>,
                                .taste = Always<10>,
                                .reads_callers_memory = true};

}  // namespace

extern const KernelDesc kCpuPoolUnpool;
const KernelDesc kCpuPoolUnpool = {.name = "cpu.pool.unpool", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
