// cpu.elementwise.typed: one element-wise operator on i32, i64 or bool, Where on any type, and Cast
// between integers, in any layout: plain loops that the compiler vectorises.
#include <algorithm>
#include <functional>
#include <type_traits>

#include "kernels/cpu/elementwise/broadcast.h"
#include "kernels/cpu/layout/broadcast.h"
#include "kernels/cpu/layout/candidates.h"
#include "kernels/cpu/layout/pad_lanes.h"
#include "kernels/family.h"

namespace fettle::kernels {
namespace {

using elementwise::BroadcastLoop;

/// What a row of the loop works on.
struct RowArgs {
  const std::byte* in[elementwise::kMaxTypedOperands];
  int64_t stride[elementwise::kMaxTypedOperands];
  std::byte* out;
  int64_t n;
};
using RowFunction = void (*)(const RowArgs&);

// Overflow wraps: sums and products are formed in the unsigned type.
template <typename T>
using Unsigned = std::make_unsigned_t<T>;
struct AddFn {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(static_cast<Unsigned<T>>(a) + static_cast<Unsigned<T>>(b));
  }
};
struct SubFn {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(static_cast<Unsigned<T>>(a) - static_cast<Unsigned<T>>(b));
  }
};
struct MulFn {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(static_cast<Unsigned<T>>(a) * static_cast<Unsigned<T>>(b));
  }
};
/// Truncates; by zero gives 0, and the least value by -1 wraps.
struct DivFn {
  template <typename T>
  T operator()(T a, T b) const {
    if (b == 0) return 0;
    if (b == -1) return SubFn()(T{0}, a);
    return static_cast<T>(a / b);
  }
};
struct MaxFn {
  template <typename T>
  T operator()(T a, T b) const {
    return a > b ? a : b;
  }
};
struct MinFn {
  template <typename T>
  T operator()(T a, T b) const {
    return a < b ? a : b;
  }
};
struct NegFn {
  template <typename T>
  T operator()(T a) const {
    return SubFn()(T{0}, a);
  }
};
struct AbsFn {
  template <typename T>
  T operator()(T a) const {
    return a < 0 ? SubFn()(T{0}, a) : a;
  }
};
struct ReluFn {
  template <typename T>
  T operator()(T a) const {
    return a < 0 ? T{0} : a;
  }
};

template <typename T, typename R, typename F>
void BinaryRow(const RowArgs& args) {
  const auto* a = reinterpret_cast<const T*>(args.in[0]);
  const auto* b = reinterpret_cast<const T*>(args.in[1]);
  auto* y = reinterpret_cast<R*>(args.out);
  const int64_t n = args.n, sa = args.stride[0], sb = args.stride[1];
  const F f;
  if (sa == 1 && sb == 1) {
    for (int64_t i = 0; i < n; ++i) y[i] = static_cast<R>(f(a[i], b[i]));
  } else if (sa == 1 && sb == 0) {
    const T v = *b;
    for (int64_t i = 0; i < n; ++i) y[i] = static_cast<R>(f(a[i], v));
  } else {
    for (int64_t i = 0; i < n; ++i) y[i] = static_cast<R>(f(a[i * sa], b[i * sb]));
  }
}

template <typename T, typename R, typename F>
void UnaryRow(const RowArgs& args) {
  const auto* a = reinterpret_cast<const T*>(args.in[0]);
  auto* y = reinterpret_cast<R*>(args.out);
  const F f;
  for (int64_t i = 0; i < args.n; ++i) y[i] = static_cast<R>(f(a[i * args.stride[0]]));
}

/// `T`: any type of the element's size.
template <typename T>
void WhereRow(const RowArgs& args) {
  const auto* c = reinterpret_cast<const uint8_t*>(args.in[0]);
  const auto* a = reinterpret_cast<const T*>(args.in[1]);
  const auto* b = reinterpret_cast<const T*>(args.in[2]);
  auto* y = reinterpret_cast<T*>(args.out);
  for (int64_t i = 0; i < args.n; ++i) {
    y[i] = c[i * args.stride[0]] != 0 ? a[i * args.stride[1]] : b[i * args.stride[2]];
  }
}

template <typename From, typename To>
void CastRow(const RowArgs& args) {
  const auto* a = reinterpret_cast<const From*>(args.in[0]);
  auto* y = reinterpret_cast<To*>(args.out);
  for (int64_t i = 0; i < args.n; ++i) y[i] = static_cast<To>(a[i * args.stride[0]]);
}

template <typename T>
RowFunction FindNumeric(std::string_view op) {
  struct Row {
    std::string_view op;
    RowFunction function;
  };
  static constexpr Row kRows[] = {
      {"Add", BinaryRow<T, T, AddFn>},
      {"Sub", BinaryRow<T, T, SubFn>},
      {"Mul", BinaryRow<T, T, MulFn>},
      {"Div", BinaryRow<T, T, DivFn>},
      {"Max", BinaryRow<T, T, MaxFn>},
      {"Min", BinaryRow<T, T, MinFn>},
      {"Equal", BinaryRow<T, uint8_t, std::equal_to<T>>},
      {"Less", BinaryRow<T, uint8_t, std::less<T>>},
      {"LessOrEqual", BinaryRow<T, uint8_t, std::less_equal<T>>},
      {"Greater", BinaryRow<T, uint8_t, std::greater<T>>},
      {"GreaterOrEqual", BinaryRow<T, uint8_t, std::greater_equal<T>>},
      {"BitwiseAnd", BinaryRow<T, T, std::bit_and<T>>},
      {"BitwiseOr", BinaryRow<T, T, std::bit_or<T>>},
      {"BitwiseXor", BinaryRow<T, T, std::bit_xor<T>>},
      {"Neg", UnaryRow<T, T, NegFn>},
      {"Abs", UnaryRow<T, T, AbsFn>},
      {"Relu", UnaryRow<T, T, ReluFn>},
      {"BitwiseNot", UnaryRow<T, T, std::bit_not<T>>},
  };
  const auto* at = std::find_if(std::begin(kRows), std::end(kRows),
                                [&](const Row& row) { return row.op == op; });
  return at == std::end(kRows) ? nullptr : at->function;
}

RowFunction FindWhere(DType dtype) {
  switch (ByteSize(dtype)) {
    case 1: return WhereRow<uint8_t>;
    case 2: return WhereRow<uint16_t>;
    case 4: return WhereRow<uint32_t>;
    case 8: return WhereRow<uint64_t>;
    default: return nullptr;
  }
}

bool IsWhole(DType dtype) {
  return dtype == DType::kBool || (IsInteger(dtype) && !IsSubByte(dtype));
}

/// The low bits stay; anything to bool compares with zero, as the conversion to `bool` does.
RowFunction FindCast(DType from, DType to) {
  RowFunction found = nullptr;
  if (!IsWhole(from) || !IsWhole(to)) return nullptr;
  DispatchDType(from, [&]<typename From>() {
    DispatchDType(to, [&]<typename To>() {
      if constexpr (!kIsFloating<From> && !kIsFloating<To>) found = CastRow<From, To>;
    });
  });
  return found;
}

Result<RowFunction> Read(const ir::Graph& group, const Device&) {
  if (group.nodes().size() != 1) return Unsupported("not a single node");
  const ir::Node& node = group.nodes()[0];
  if (group.outputs.size() != 1 || node.inputs.empty() ||
      node.inputs.size() > elementwise::kMaxTypedOperands) {
    return Unsupported("not an operator of one to three operands");
  }
  for (ir::ValueId id : node.inputs) {
    if (id == ir::kAbsent) return Unsupported("an operand is left out");
  }
  const DType dtype = group.value(node.inputs[0]).dtype;
  RowFunction function = nullptr;
  if (node.op == "Where"_op) {
    function = FindWhere(group.value(node.outputs[0]).dtype);
  } else if (node.op == "Cast"_op) {
    function = FindCast(dtype, group.value(node.outputs[0]).dtype);
  } else if (node.inputs.size() <= 2) {
    if (dtype == DType::kI32) function = FindNumeric<int32_t>(node.op);
    if (dtype == DType::kI64) function = FindNumeric<int64_t>(node.op);
    const bool folds_one = node.inputs.size() == 1 && (node.op == "Max"_op || node.op == "Min"_op);
    if (folds_one) function = nullptr;
  }
  if (function == nullptr)
    return Unsupported("{} of {} has no loop here", node.op, DTypeName(dtype));
  return function;
}

class Typed final : public PreparedKernel {
 public:
  Typed(const ir::Graph& group, RowFunction function, BroadcastLoop loop, PadLanes pads)
      : function_(function), loop_(std::move(loop)), pads_(std::move(pads)) {
    const ir::Node& node = group.nodes()[0];
    output_bytes_ = StorageBytes(group.value(node.outputs[0]).dtype, 1);
    for (ir::ValueId id : node.inputs) {
      const ir::Value& value = group.value(id);
      const auto at = std::find(group.inputs.begin(), group.inputs.end(), id);
      operands_.push_back(
          {StorageBytes(value.dtype, 1), value.is_constant(),
           value.is_constant() ? packs_.size() : static_cast<size_t>(at - group.inputs.begin())});
      if (!value.is_constant()) continue;
      packs_.push_back({{id},
                        "row",
                        StorageBytes(value.dtype, value.constant->elements()),
                        [](std::span<const Constant* const> constants, std::byte* out) {
                          constants[0]->CopyTo(0, constants[0]->elements(), out);
                          return OkStatus();
                        }});
    }
  }

  std::vector<PackRequest> packs() const override { return packs_; }

  Status Launch(const LaunchArgs& args) const override {
    auto& stream = static_cast<CpuStream&>(args.stream);
    loop_.Run(stream, [&](const int64_t* offsets, int64_t n, int64_t at) {
      RowArgs row{};
      for (size_t i = 0; i < operands_.size(); ++i) {
        const Operand& operand = operands_[i];
        const Location& from =
            operand.packed ? args.packed[operand.index] : args.inputs[operand.index];
        row.in[i] = from.host<std::byte>() + offsets[i] * operand.bytes;
        row.stride[i] = loop_.stride(i);
      }
      row.out = args.outputs[0].host<std::byte>() + at * output_bytes_;
      row.n = n;
      function_(row);
    });
    pads_.Zero(stream, args.outputs[0].host<std::byte>());
    return OkStatus();
  }

 private:
  struct Operand {
    int64_t bytes;
    bool packed;
    size_t index;
  };

  RowFunction function_;
  BroadcastLoop loop_;
  PadLanes pads_;
  int64_t output_bytes_ = 0;
  std::vector<Operand> operands_;
  std::vector<PackRequest> packs_;
};

Result<BroadcastLoop> MakeLoop(const ir::Graph& group, const StateAssignment& states) {
  const Shape& full = *group.value(group.outputs[0]).shape;
  const Layout& layout = states.outputs[0].layout;
  std::vector<std::vector<int64_t>> strides;
  for (ir::ValueId id : group.nodes()[0].inputs) {
    const auto at = std::find(group.inputs.begin(), group.inputs.end(), id) - group.inputs.begin();
    const bool is_bound = !group.value(id).is_constant();
    const Layout own = is_bound ? states.inputs[at].layout : Layout();
    ASSIGN_OR_RETURN(std::vector<int64_t> along,
                     BroadcastStrides(full, layout, *group.value(id).shape, own));
    strides.push_back(std::move(along));
  }
  return BroadcastLoop(ToPhysical(full, layout).extent, std::move(strides));
}

/// All operands that can be are in `layout`, the others row-major.
StateAssignment InLayout(const ir::Graph& group, const Layout& layout) {
  StateAssignment states = RowMajorStates(group);
  const Shape& full = *group.value(group.outputs[0]).shape;
  for (size_t i = 0; i < group.inputs.size(); ++i) {
    if (SharesLayout(*group.value(group.inputs[i]).shape, full, layout))
      states.inputs[i].layout = layout;
  }
  states.outputs[0].layout = layout;
  return states;
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const RowFunction&,
                                            const Device&) {
  const Shape& full = *group.value(group.outputs[0]).shape;
  std::vector<Layout> layouts = BlockedLayouts(full);
  layouts.insert(layouts.begin(), {Layout::RowMajor(), Layout::ChannelsLast(full.rank())});
  std::vector<StateAssignment> states;
  for (const Layout& layout : layouts) {
    StateAssignment next = InLayout(group, layout);
    const bool is_known = std::find(states.begin(), states.end(), next) != states.end();
    if (!is_known && MakeLoop(group, next).ok()) states.push_back(std::move(next));
  }
  return states;
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const RowFunction& function,
                                                const Params&, const Device&) {
  const ir::Graph& group = *problem.group;
  ASSIGN_OR_RETURN(BroadcastLoop loop, MakeLoop(group, problem.states));
  const State& state = problem.states.outputs[0];
  PadLanes pads(problem.shape(group.outputs[0]), state.layout, StorageBytes(state.storage, 1));
  return std::unique_ptr<PreparedKernel>(
      new Typed(group, function, std::move(loop), std::move(pads)));
}

constexpr Family<RowFunction> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .taste = Always<5>};

}  // namespace

extern const KernelDesc kCpuElementwiseTyped;
const KernelDesc kCpuElementwiseTyped = {.name = "cpu.elementwise.typed",
                                         .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
