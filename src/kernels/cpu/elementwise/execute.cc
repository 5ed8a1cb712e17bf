// Runs the instructions of a program chunk by chunk, dispatched once per rectangle.
#include <algorithm>

#include "base/check.h"
#include "kernels/cpu/elementwise/instruction.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/elementwise/execute.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/highway.h>

#include "kernels/cpu/elementwise/fetch-inl.h"
#include "kernels/cpu/elementwise/functors-inl.h"
#include "kernels/cpu/elementwise/half_bits-inl.h"
#include "kernels/cpu/elementwise/quantise-inl.h"
#include "kernels/cpu/simd/partial-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels::elementwise {
namespace HWY_NAMESPACE {

/// `once`: `all` lanes hold the row's one element.
template <bool once, class D, class V>
HWY_INLINE V LoadFull(D d, V all, const float* p) {
  if constexpr (once) return all;
  return hn::LoadU(d, p);
}
template <bool once, class D, class V>
HWY_INLINE V LoadTail(D d, int64_t n, V all, const float* p) {
  if constexpr (once) return all;
  return LoadFirst(d, n, p);
}

template <class F>
HWY_INLINE void Map1(const F& f, Area area, View a, float* dst, int64_t dst_stride) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t r = 0; r < area.rows; ++r, a.data += a.stride, dst += dst_stride) {
    int64_t i = 0;
    if constexpr (F::kIsOfSeveral) {
      constexpr auto kAll = static_cast<int64_t>(kTogether);
      for (; i + kAll * lanes <= area.cols; i += kAll * lanes) {
        hn::Vec<decltype(d)> x[kTogether];
        for (int64_t k = 0; k < kAll; ++k) x[k] = hn::LoadU(d, a.data + i + k * lanes);
        f.All(d, x);
        for (int64_t k = 0; k < kAll; ++k) hn::StoreU(x[k], d, dst + i + k * lanes);
      }
    }
    for (; i + lanes <= area.cols; i += lanes) {
      hn::StoreU(f(d, hn::LoadU(d, a.data + i)), d, dst + i);
    }
    if (i == area.cols) continue;
    const int64_t n = area.cols - i;
    StoreFirst(d, f(d, LoadFirst(d, n, a.data + i)), n, dst + i);
  }
}

template <bool a_once, bool b_once, class F>
HWY_INLINE void Map2(const F& f, Area area, View a, View b, float* dst, int64_t dst_stride) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t r = 0; r < area.rows; ++r) {
    const float *pa = a.data + r * a.stride, *pb = b.data + r * b.stride;
    const auto all_a = hn::Set(d, *pa), all_b = hn::Set(d, *pb);
    float* out = dst + r * dst_stride;
    int64_t i = 0;
    for (; i + lanes <= area.cols; i += lanes) {
      hn::StoreU(f(d, LoadFull<a_once>(d, all_a, pa + i), LoadFull<b_once>(d, all_b, pb + i)), d,
                 out + i);
    }
    if (i == area.cols) continue;
    const int64_t n = area.cols - i;
    StoreFirst(d,
               f(d, LoadTail<a_once>(d, n, all_a, pa + i), LoadTail<b_once>(d, n, all_b, pb + i)),
               n, out + i);
  }
}

template <bool b_once, bool c_once, class F>
HWY_INLINE void Map3(const F& f, Area area, View a, View b, View c, float* dst,
                     int64_t dst_stride) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t r = 0; r < area.rows; ++r) {
    const float *pa = a.data + r * a.stride, *pb = b.data + r * b.stride,
                *pc = c.data + r * c.stride;
    const auto all_b = hn::Set(d, *pb), all_c = hn::Set(d, *pc);
    float* out = dst + r * dst_stride;
    int64_t i = 0;
    for (; i + lanes <= area.cols; i += lanes) {
      hn::StoreU(f(d, hn::LoadU(d, pa + i), LoadFull<b_once>(d, all_b, pb + i),
                   LoadFull<c_once>(d, all_c, pc + i)),
                 d, out + i);
    }
    if (i == area.cols) continue;
    const int64_t n = area.cols - i;
    StoreFirst(d,
               f(d, LoadFirst(d, n, pa + i), LoadTail<b_once>(d, n, all_b, pb + i),
                 LoadTail<c_once>(d, n, all_c, pc + i)),
               n, out + i);
  }
}

/// QuantizeLinear by one scale for each row: a division takes as long as all the rest.
template <bool c_once>
HWY_INLINE void QuantiseRows(const Instruction& in, Area area, const View (&v)[3], float* dst,
                             int64_t dst_stride) {
  const hn::ScalableTag<float> d;
  const View &a = v[0], &b = v[1], &c = v[2];
  for (int64_t r = 0; r < area.rows; ++r) {
    const float scale = b.data[r * b.stride];
    const View row{a.data + r * a.stride, 0, false}, zero{c.data + r * c.stride, 0, c_once};
    float* out = dst + r * dst_stride;
    const auto divisor = hn::Set(d, scale), inverse = hn::Div(hn::Set(d, 1.0f), divisor);
    const auto run = [&](const auto& divide) HWY_ATTR {
      Map2<false, c_once>([&](auto, auto x, auto z)
                              HWY_ATTR { return Quantise(d, divide(x), z, in.p0, in.p1); },
                          {1, area.cols}, row, zero, out, 0);
    };
    if (IsInvertible(scale)) {
      run([&](auto x) HWY_ATTR { return QuotientBy(d, x, divisor, inverse); });
    } else {
      run([&](auto x) HWY_ATTR { return hn::Div(x, divisor); });
    }
  }
}

/// A function without a vector form, element by element, in double.
template <class F>
void MapScalar(const F& f, Area area, const View (&v)[3], float* dst, int64_t dst_stride) {
  for (int64_t r = 0; r < area.rows; ++r) {
    for (int64_t i = 0; i < area.cols; ++i) {
      const auto x = [&](const View& view) {
        return static_cast<double>(view.data[r * view.stride + (view.broadcast ? 0 : i)]);
      };
      if constexpr (requires { f(1.0); }) {
        dst[r * dst_stride + i] = static_cast<float>(f(x(v[0])));
      } else {
        dst[r * dst_stride + i] = static_cast<float>(f(x(v[0]), x(v[1])));
      }
    }
  }
}

/// One lane at a time, of any broadcast: what hardly any processor runs is short.
template <int kOperands, class F>
HWY_INLINE void MapLanes(const F& f, Area area, const View (&v)[3], float* dst,
                         int64_t dst_stride) {
  const hn::ScalableTag<float> d;
  for (int64_t r = 0; r < area.rows; ++r) {
    for (int64_t i = 0; i < area.cols; ++i) {
      const auto x = [&](const View& view) HWY_ATTR {
        return hn::LoadU(d, view.data + r * view.stride + (view.broadcast ? 0 : i));
      };
      float* out = dst + r * dst_stride + i;
      if constexpr (kOperands == 1) {
        hn::StoreU(f(d, x(v[0])), d, out);
      } else if constexpr (kOperands == 2) {
        hn::StoreU(f(d, x(v[0]), x(v[1])), d, out);
      } else {
        hn::StoreU(f(d, x(v[0]), x(v[1]), x(v[2])), d, out);
      }
    }
  }
}

HWY_INLINE bool Dense(const View& v, Area area) {
  return v.broadcast ? v.stride == 0 : v.stride == area.cols;
}

/// At most one of two operands is broadcast, and not the first of three.
template <Fn fn>
void Run(const Instruction& in, Area area, const View (&v)[3], float* dst, int64_t stride) {
  constexpr int kOperands = expr::OperandsOf(fn);
  const auto is_dense = [&](int i) { return i >= kOperands || Dense(v[i], area); };
  const Area joined = Joined(
      area, area.rows == 1 || (stride == area.cols && is_dense(0) && is_dense(1) && is_dense(2)));
  if constexpr (Functor<fn>::kIsScalar) {
    MapScalar(Functor<fn>{in}, joined, v, dst, stride);
  } else if constexpr (HWY_TARGET == HWY_SCALAR) {
    MapLanes<kOperands>(Functor<fn>{in}, joined, v, dst, stride);
  } else if constexpr (kOperands == 1) {
    Map1(Functor<fn>{in}, joined, v[0], dst, stride);
  } else if constexpr (kOperands == 2) {
    const Functor<fn> f{in};
    if (v[0].broadcast) return Map2<true, false>(f, joined, v[0], v[1], dst, stride);
    if (v[1].broadcast) return Map2<false, true>(f, joined, v[0], v[1], dst, stride);
    Map2<false, false>(f, joined, v[0], v[1], dst, stride);
  } else {
    const Functor<fn> f{in};
    const bool b = v[1].broadcast, c = v[2].broadcast;
    if constexpr (fn == Fn::kQuantise) {
      if (b) return (c ? QuantiseRows<true> : QuantiseRows<false>)(in, joined, v, dst, stride);
    }
    if (b && c) return Map3<true, true>(f, joined, v[0], v[1], v[2], dst, stride);
    if (b) return Map3<true, false>(f, joined, v[0], v[1], v[2], dst, stride);
    if (c) return Map3<false, true>(f, joined, v[0], v[1], v[2], dst, stride);
    Map3<false, false>(f, joined, v[0], v[1], v[2], dst, stride);
  }
}

using Function = void (*)(const Instruction&, Area, const View (&)[3], float*, int64_t);
constexpr Function kFunctions[] = {
#define FN(operands, name, ...) Run<Fn::k##name>,
#include "kernels/expr/fn.inc"
};

void Step(const Instruction& in, std::span<const Window> operands, std::span<const Window> outputs,
          const Chunk& chunk, Scratch& scratch) {
  const Area area = chunk.area;
  float* dst = scratch.registers[in.dst];
  int64_t stride = area.cols;
  const Window* out = in.output < 0 ? nullptr : &outputs[in.output];
  if (out != nullptr) {
    if (ConvertRows(in, operands, *out, chunk) || MapHalves(in, operands, *out, chunk)) return;
    const bool direct = out->storage == DType::kF32;
    dst = direct ? reinterpret_cast<float*>(OutputAt(*out, chunk.row, chunk.col)) : scratch.result;
    stride = direct ? out->row_stride : area.cols;
  }
  const auto fetch = [&](const Source& source, bool may_broadcast, int slot) {
    if (source.kind == Source::kNone) return View();
    if (source.kind == Source::kImmediate && may_broadcast) return View{&source.value, 0, true};
    return Fetch(source, operands, chunk, may_broadcast, scratch, slot);
  };
  // In place: a copy of what was just written waits for it.
  const bool of_integers = IsOfIntegers(in, operands, area.cols);
  const View views[3] = {of_integers ? View() : fetch(in.a, expr::OperandsOf(in.fn) == 2, 0),
                         fetch(in.b, !views[0].broadcast, 1), fetch(in.c, true, 2)};
  if (out != nullptr && QuantiseBytes(in, views, *out, chunk)) return;
  if (of_integers) {
    DequantiseRows(operands[in.a.index], chunk, views[1], views[2], dst, stride);
  } else {
    kFunctions[static_cast<size_t>(in.fn)](in, area, views, dst, stride);
  }
  if (out == nullptr || out->storage == DType::kF32) return;
  const Area rows = Joined(area, area.rows > 1 && out->row_stride == area.cols);
  for (int64_t r = 0; r < rows.rows; ++r) {
    StoreFromFloat(out->storage, scratch.result + r * rows.cols, rows.cols,
                   OutputAt(*out, chunk.row + r, chunk.col));
  }
}

/// Elements of a chunk that leaves nothing in the scratch.
constexpr int64_t kDirectChunk = 16 * kChunk;

/// Whether all that a lone instruction reads and writes are rows where they are: none is held in
/// the scratch, but for one element a row.
bool IsDirect(const Instruction& in, std::span<const Window> operands,
              std::span<const Window> outputs, int64_t cols) {
  if (in.output < 0) return false;
  if (IsOfHalfBits(in, operands, outputs[in.output])) return true;
  const DType out = outputs[in.output].storage;
  if (out == DType::kF32 && IsOfIntegers(in, operands, cols)) return true;
  const auto is_plain = [&](const Source& source, bool may_broadcast) {
    if (source.kind == Source::kNone) return true;
    const bool reads = source.kind == Source::kOperand;
    if (!reads || operands[source.index].col_stride == 0) return may_broadcast;
    const Window& window = operands[source.index];
    return window.col_stride == 1 && (window.storage == DType::kF32 || in.fn == Fn::kCopy);
  };
  const bool quantises = in.fn == Fn::kQuantise && (out == DType::kI8 || out == DType::kU8) &&
                         in.p1 - in.p0 == 255 && !is_plain(in.b, false) && !is_plain(in.c, false);
  const bool widens = out == DType::kF32;
  const bool converts = in.fn == Fn::kCopy && in.a.kind == Source::kOperand &&
                        (operands[in.a.index].storage == DType::kF32) != widens;
  if (in.fn == Fn::kCopy && !converts) return false;
  return (widens || converts || quantises) && is_plain(in.a, false) && is_plain(in.b, true) &&
         is_plain(in.c, true);
}

void ExecuteChunks(std::span<const Instruction> instructions, std::span<const Window> operands,
                   std::span<const Window> outputs, int64_t rows, int64_t cols) {
  Scratch scratch;
  const bool direct =
      instructions.size() == 1 && IsDirect(instructions[0], operands, outputs, cols);
  const int64_t chunk = direct ? kDirectChunk : kChunk, chunk_cols = std::min(cols, chunk);
  const int64_t chunk_rows =
      std::clamp<int64_t>(chunk / std::max<int64_t>(chunk_cols, 1), 1, kChunk);
  for (int64_t row = 0; row < rows; row += chunk_rows) {
    for (int64_t col = 0; col < cols; col += chunk_cols) {
      const Chunk chunk{
          row, col, {std::min(chunk_rows, rows - row), std::min(chunk_cols, cols - col)}};
      for (const Instruction& in : instructions) Step(in, operands, outputs, chunk, scratch);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace fettle::kernels::elementwise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fettle::kernels::elementwise {

HWY_EXPORT(ExecuteChunks);

void Execute(std::span<const Instruction> instructions, std::span<const Window> operands,
             std::span<const Window> outputs, int64_t rows, int64_t cols) {
  HWY_DYNAMIC_DISPATCH(ExecuteChunks)(instructions, operands, outputs, rows, cols);
}

}  // namespace fettle::kernels::elementwise
#endif
