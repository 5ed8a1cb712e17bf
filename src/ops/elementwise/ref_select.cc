// Scalar oracles of Clip, Where and Pow, whose operands differ in role or type.
#include <cmath>
#include <cstring>

#include "ops/elementwise/op.h"
#include "ops/walk.h"

namespace fettle::ops {
namespace {

/// Wraps; negative exponents truncate towards zero, so that only 1 and -1 give something.
int64_t IntegerPower(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    return base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
  }
  uint64_t result = 1, factor = static_cast<uint64_t>(base);
  for (auto bits = static_cast<uint64_t>(exponent); bits != 0; bits >>= 1) {
    if (bits & 1) result *= factor;
    factor *= factor;
  }
  return static_cast<int64_t>(result);
}

}  // namespace

Status ClipReference(const RefContext& context, const Region& region) {
  const HostView &x = context.inputs[0], &y = context.outputs[0];
  Walker walk(y.shape, {x.strides, y.strides}, region.begin);
  DispatchDType(x.dtype, [&]<typename T>() {
    const auto bound = [&](size_t i) -> Wide<T> {
      const HostView& view = context.inputs[i];
      if constexpr (kIsFloating<T>) return view.GetDouble(0);  // f32 bounds go with any float type
      return Widen(view.as<T>()[0]);
    };
    for (int64_t i = region.begin; i < region.end; ++i, walk.Next()) {
      auto value = Widen(x.as<T>()[walk[0]]);
      // The upper bound wins where the bounds cross; NaN passes.
      if (context.has_input(1) && value < bound(1)) value = bound(1);
      if (context.has_input(2) && value > bound(2)) value = bound(2);
      y.as<T>()[walk[1]] = Narrow<T>(value);
    }
  });
  return OkStatus();
}

Status WhereReference(const RefContext& context, const Region& region) {
  const HostView& y = context.outputs[0];
  const HostView* in = context.inputs.data();
  Walker walk(y.shape,
              {BroadcastStrides(in[0], y.shape), BroadcastStrides(in[1], y.shape),
               BroadcastStrides(in[2], y.shape), y.strides},
              region.begin);
  const size_t size = StorageBytes(y.dtype, 1);
  for (int64_t i = region.begin; i < region.end; ++i, walk.Next()) {
    const size_t chosen = in[0].as<bool>()[walk[0]] ? 1 : 2;
    std::memcpy(y.data + StorageBytes(y.dtype, walk[3]),
                in[chosen].data + StorageBytes(y.dtype, walk[chosen]), size);
  }
  return OkStatus();
}

Status PowReference(const RefContext& context, const Region& region) {
  const HostView &x = context.inputs[0], &e = context.inputs[1], &y = context.outputs[0];
  Walker walk(y.shape, {BroadcastStrides(x, y.shape), BroadcastStrides(e, y.shape), y.strides},
              region.begin);
  const bool integers = IsInteger(x.dtype) && IsInteger(e.dtype);
  for (int64_t i = region.begin; i < region.end; ++i, walk.Next()) {
    if (integers) {
      y.SetInt(walk[2], IntegerPower(x.GetInt(walk[0]), e.GetInt(walk[1])));
      continue;
    }
    const double power = std::pow(x.GetDouble(walk[0]), e.GetDouble(walk[1]));
    if (IsFloat(y.dtype)) {
      y.SetDouble(walk[2], power);
    } else {
      // A fraction truncates; what no integer can hold gives 0.
      const bool fits = std::fabs(power) < 0x1p63;
      y.SetInt(walk[2], fits ? static_cast<int64_t>(power) : 0);
    }
  }
  return OkStatus();
}

}  // namespace fettle::ops
