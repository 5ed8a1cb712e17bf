// Runs the instructions of a program chunk by chunk, dispatched once per rectangle.
#include <algorithm>

#include "base/check.h"
#include "kernels/cpu/elementwise/instruction.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/elementwise/execute.cc"
#include <hwy/foreach_target.h>
// Highway needs this order.
#include <hwy/highway.h>

#include "kernels/cpu/elementwise/functors-inl.h"
#include "kernels/cpu/simd/partial-inl.h"
#include "kernels/cpu/simd/storage-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fettle::kernels::elementwise {
namespace HWY_NAMESPACE {

/// fp32 elements of one chunk; `broadcast`: one element per row.
struct View {
  const float* data;
  int64_t stride;
  bool broadcast;
};

struct Area {
  int64_t rows, cols;
};

template <bool broadcast, class D>
HWY_INLINE hn::Vec<D> LoadFull(D d, const float* p) {
  if constexpr (broadcast) return hn::Set(d, *p);
  return hn::LoadU(d, p);
}
template <bool broadcast, class D, class M>
HWY_INLINE hn::Vec<D> LoadTail(D d, M mask, const float* p) {
  if constexpr (broadcast) return hn::Set(d, *p);
  return hn::MaskedLoad(mask, d, p);
}

template <class F>
HWY_INLINE void Map1(const F& f, Area area, View a, float* dst, int64_t dst_stride) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t r = 0; r < area.rows; ++r, a.data += a.stride, dst += dst_stride) {
    int64_t i = 0;
    for (; i + lanes <= area.cols; i += lanes) {
      hn::StoreU(f(d, hn::LoadU(d, a.data + i)), d, dst + i);
    }
    if (i == area.cols) continue;
    const auto mask = hn::FirstN(d, area.cols - i);
    StoreFirst(d, f(d, LoadTail<false>(d, mask, a.data + i)), area.cols - i, dst + i);
  }
}

template <bool a_once, bool b_once, class F>
HWY_INLINE void Map2(const F& f, Area area, View a, View b, float* dst, int64_t dst_stride) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t r = 0; r < area.rows; ++r) {
    const float *pa = a.data + r * a.stride, *pb = b.data + r * b.stride;
    float* out = dst + r * dst_stride;
    int64_t i = 0;
    for (; i + lanes <= area.cols; i += lanes) {
      hn::StoreU(f(d, LoadFull<a_once>(d, pa + (a_once ? 0 : i)),
                   LoadFull<b_once>(d, pb + (b_once ? 0 : i))),
                 d, out + i);
    }
    if (i == area.cols) continue;
    const auto mask = hn::FirstN(d, area.cols - i);
    StoreFirst(d,
               f(d, LoadTail<a_once>(d, mask, pa + (a_once ? 0 : i)),
                 LoadTail<b_once>(d, mask, pb + (b_once ? 0 : i))),
               area.cols - i, out + i);
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
    float* out = dst + r * dst_stride;
    int64_t i = 0;
    for (; i + lanes <= area.cols; i += lanes) {
      hn::StoreU(f(d, hn::LoadU(d, pa + i), LoadFull<b_once>(d, pb + (b_once ? 0 : i)),
                   LoadFull<c_once>(d, pc + (c_once ? 0 : i))),
                 d, out + i);
    }
    if (i == area.cols) continue;
    const auto mask = hn::FirstN(d, area.cols - i);
    StoreFirst(
        d,
        f(d, LoadTail<false>(d, mask, pa + i), LoadTail<b_once>(d, mask, pb + (b_once ? 0 : i)),
          LoadTail<c_once>(d, mask, pc + (c_once ? 0 : i))),
        area.cols - i, out + i);
  }
}

/// Rows that follow each other without a gap are one long row.
HWY_INLINE Area Joined(Area area, bool dense) {
  return dense ? Area{1, area.rows * area.cols} : area;
}
HWY_INLINE bool Dense(const View& v, Area area) {
  return v.broadcast ? v.stride == 0 : v.stride == area.cols;
}

template <OpCode code>
void RunUnary(const Instruction& in, Area area, View a, float* dst, int64_t stride) {
  const bool dense = area.rows == 1 || (Dense(a, area) && stride == area.cols);
  Map1(Unary<code>{in}, Joined(area, dense), a, dst, stride);
}

/// At most one of a and b is broadcast.
template <OpCode code>
void RunBinary(const Instruction& in, Area area, View a, View b, float* dst, int64_t stride) {
  const bool dense = area.rows == 1 || (Dense(a, area) && Dense(b, area) && stride == area.cols);
  const Area joined = Joined(area, dense);
  const Binary<code> f{in};
  if (a.broadcast) return Map2<true, false>(f, joined, a, b, dst, stride);
  if (b.broadcast) return Map2<false, true>(f, joined, a, b, dst, stride);
  Map2<false, false>(f, joined, a, b, dst, stride);
}

/// a is not broadcast.
template <OpCode code>
void RunTernary(const Instruction& in, Area area, View a, View b, View c, float* dst,
                int64_t stride) {
  const bool dense =
      area.rows == 1 || (Dense(a, area) && Dense(b, area) && Dense(c, area) && stride == area.cols);
  const Area joined = Joined(area, dense);
  const Ternary<code> f{in};
  if (b.broadcast && c.broadcast) return Map3<true, true>(f, joined, a, b, c, dst, stride);
  if (b.broadcast) return Map3<true, false>(f, joined, a, b, c, dst, stride);
  if (c.broadcast) return Map3<false, true>(f, joined, a, b, c, dst, stride);
  Map3<false, false>(f, joined, a, b, c, dst, stride);
}

using UnaryFunction = void (*)(const Instruction&, Area, View, float*, int64_t);
using BinaryFunction = void (*)(const Instruction&, Area, View, View, float*, int64_t);
using TernaryFunction = void (*)(const Instruction&, Area, View, View, View, float*, int64_t);

UnaryFunction FindUnary(OpCode code) {
  switch (code) {
    case OpCode::kCopy: return RunUnary<OpCode::kCopy>;
    case OpCode::kAbs: return RunUnary<OpCode::kAbs>;
    case OpCode::kNeg: return RunUnary<OpCode::kNeg>;
    case OpCode::kFloor: return RunUnary<OpCode::kFloor>;
    case OpCode::kCeil: return RunUnary<OpCode::kCeil>;
    case OpCode::kRound: return RunUnary<OpCode::kRound>;
    case OpCode::kTrunc: return RunUnary<OpCode::kTrunc>;
    case OpCode::kSign: return RunUnary<OpCode::kSign>;
    case OpCode::kSqrt: return RunUnary<OpCode::kSqrt>;
    case OpCode::kReciprocal: return RunUnary<OpCode::kReciprocal>;
    case OpCode::kExp: return RunUnary<OpCode::kExp>;
    case OpCode::kLog: return RunUnary<OpCode::kLog>;
    case OpCode::kErf: return RunUnary<OpCode::kErf>;
    case OpCode::kTanh: return RunUnary<OpCode::kTanh>;
    case OpCode::kSigmoid: return RunUnary<OpCode::kSigmoid>;
    case OpCode::kSin: return RunUnary<OpCode::kSin>;
    case OpCode::kCos: return RunUnary<OpCode::kCos>;
    case OpCode::kRelu: return RunUnary<OpCode::kRelu>;
    case OpCode::kLeakyRelu: return RunUnary<OpCode::kLeakyRelu>;
    case OpCode::kElu: return RunUnary<OpCode::kElu>;
    case OpCode::kHardSigmoid: return RunUnary<OpCode::kHardSigmoid>;
    case OpCode::kHardSwish: return RunUnary<OpCode::kHardSwish>;
    case OpCode::kSwish: return RunUnary<OpCode::kSwish>;
    case OpCode::kMish: return RunUnary<OpCode::kMish>;
    case OpCode::kSoftplus: return RunUnary<OpCode::kSoftplus>;
    case OpCode::kSoftsign: return RunUnary<OpCode::kSoftsign>;
    case OpCode::kThreshold: return RunUnary<OpCode::kThreshold>;
    case OpCode::kGeluErf: return RunUnary<OpCode::kGeluErf>;
    case OpCode::kGeluTanh: return RunUnary<OpCode::kGeluTanh>;
    case OpCode::kNot: return RunUnary<OpCode::kNot>;
    case OpCode::kIsNaN: return RunUnary<OpCode::kIsNaN>;
    case OpCode::kIsInf: return RunUnary<OpCode::kIsInf>;
    case OpCode::kClip: return RunUnary<OpCode::kClip>;
    case OpCode::kToInt: return RunUnary<OpCode::kToInt>;
    case OpCode::kToBool: return RunUnary<OpCode::kToBool>;
    default: return nullptr;
  }
}

BinaryFunction FindBinary(OpCode code) {
  switch (code) {
    case OpCode::kAdd: return RunBinary<OpCode::kAdd>;
    case OpCode::kSub: return RunBinary<OpCode::kSub>;
    case OpCode::kMul: return RunBinary<OpCode::kMul>;
    case OpCode::kDiv: return RunBinary<OpCode::kDiv>;
    case OpCode::kMax: return RunBinary<OpCode::kMax>;
    case OpCode::kMin: return RunBinary<OpCode::kMin>;
    case OpCode::kPRelu: return RunBinary<OpCode::kPRelu>;
    case OpCode::kEqual: return RunBinary<OpCode::kEqual>;
    case OpCode::kLess: return RunBinary<OpCode::kLess>;
    case OpCode::kLessOrEqual: return RunBinary<OpCode::kLessOrEqual>;
    case OpCode::kAnd: return RunBinary<OpCode::kAnd>;
    case OpCode::kOr: return RunBinary<OpCode::kOr>;
    case OpCode::kXor: return RunBinary<OpCode::kXor>;
    default: return nullptr;
  }
}

TernaryFunction FindTernary(OpCode code) {
  switch (code) {
    case OpCode::kMulAdd: return RunTernary<OpCode::kMulAdd>;
    case OpCode::kWhere: return RunTernary<OpCode::kWhere>;
    case OpCode::kClip3: return RunTernary<OpCode::kClip3>;
    case OpCode::kQuantise: return RunTernary<OpCode::kQuantise>;
    case OpCode::kDequantise: return RunTernary<OpCode::kDequantise>;
    default: return nullptr;
  }
}

/// The memory of one Execute: registers, and what operands become that are not plain fp32 rows.
struct Scratch {
  HWY_ALIGN float registers[kMaxRegisters][kChunk];
  HWY_ALIGN float loaded[3][kChunk];
  HWY_ALIGN float result[kChunk];
};

/// A chunk of a rectangle: where it starts, how large it is.
struct Chunk {
  int64_t row, col;
  Area area;
};

/// One element of `window` relative to its first, as a byte address.
HWY_INLINE const std::byte* At(const Window& window, int64_t row, int64_t col) {
  return static_cast<const std::byte*>(window.data) +
         (row * window.row_stride + col * window.col_stride) * StorageBytes(window.storage);
}

/// `source` as fp32 rows of the chunk; `loaded` takes what has to be converted or spread.
View Fetch(const Source& source, std::span<const Window> operands, const Chunk& chunk,
           bool may_broadcast, Scratch& scratch, float* loaded) {
  const Area area = chunk.area;
  View view{nullptr, 0, false};
  if (source.kind == Source::kRegister) {
    return {scratch.registers[source.index], area.cols, false};
  }
  if (source.kind == Source::kImmediate) {
    view = {&source.value, 0, true};
  } else {
    const Window& window = operands[source.index];
    if (window.storage == DType::kF32 && window.col_stride <= 1) {
      view = {reinterpret_cast<const float*>(At(window, chunk.row, chunk.col)), window.row_stride,
              window.col_stride == 0};
    } else if (window.col_stride == 0) {
      for (int64_t r = 0; r < area.rows; ++r) {
        LoadAsFloat(window.storage, At(window, chunk.row + r, 0), 1, 1, loaded + r);
      }
      view = {loaded, 1, true};
      if (!may_broadcast) {  // spread from the last row backwards, in place
        for (int64_t r = area.rows; r-- > 0;) {
          std::fill_n(loaded + r * area.cols, area.cols, loaded[r]);
        }
        return {loaded, area.cols, false};
      }
    } else {
      for (int64_t r = 0; r < area.rows; ++r) {
        LoadAsFloat(window.storage, At(window, chunk.row + r, chunk.col), window.col_stride,
                    area.cols, loaded + r * area.cols);
      }
      return {loaded, area.cols, false};
    }
  }
  if (!view.broadcast || may_broadcast) return view;
  for (int64_t r = 0; r < area.rows; ++r) {
    std::fill_n(loaded + r * area.cols, area.cols, view.data[r * view.stride]);
  }
  return {loaded, area.cols, false};
}

/// Functions without a vector form, element by element.
void RunScalar(const Instruction& in, Area area, View a, View b, float* dst, int64_t stride) {
  for (int64_t r = 0; r < area.rows; ++r) {
    const float *pa = a.data + r * a.stride, *pb = b.data + r * b.stride;
    for (int64_t i = 0; i < area.cols; ++i) {
      const double x = static_cast<double>(pa[i]);
      const double y = in.fold == nullptr
                           ? in.unary(x, in.params)
                           : in.fold(x, static_cast<double>(pb[b.broadcast ? 0 : i]), in.params);
      dst[r * stride + i] = static_cast<float>(y);
    }
  }
}

void Step(const Instruction& in, std::span<const Window> operands, std::span<const Window> outputs,
          const Chunk& chunk, Scratch& scratch) {
  const Area area = chunk.area;
  float* dst = scratch.registers[in.dst];
  int64_t stride = area.cols;
  const Window* out = in.output < 0 ? nullptr : &outputs[in.output];
  if (out != nullptr) {
    const bool direct = out->storage == DType::kF32;
    dst = direct
              ? const_cast<float*>(reinterpret_cast<const float*>(At(*out, chunk.row, chunk.col)))
              : scratch.result;
    stride = direct ? out->row_stride : area.cols;
  }
  const auto fetch = [&](const Source& source, bool may_broadcast, int slot) {
    return Fetch(source, operands, chunk, may_broadcast, scratch, scratch.loaded[slot]);
  };
  if (const UnaryFunction unary = FindUnary(in.code)) {
    unary(in, area, fetch(in.a, false, 0), dst, stride);
  } else if (const BinaryFunction binary = FindBinary(in.code)) {
    const View a = fetch(in.a, true, 0);
    binary(in, area, a, fetch(in.b, !a.broadcast, 1), dst, stride);
  } else if (const TernaryFunction ternary = FindTernary(in.code)) {
    ternary(in, area, fetch(in.a, false, 0), fetch(in.b, true, 1), fetch(in.c, true, 2), dst,
            stride);
  } else {
    const View b = in.fold == nullptr ? View{} : fetch(in.b, true, 1);
    RunScalar(in, area, fetch(in.a, false, 0), b, dst, stride);
  }
  if (out == nullptr || out->storage == DType::kF32) return;
  for (int64_t r = 0; r < area.rows; ++r) {
    StoreFromFloat(out->storage, scratch.result + r * area.cols, area.cols,
                   const_cast<std::byte*>(At(*out, chunk.row + r, chunk.col)));
  }
}

void ExecuteChunks(std::span<const Instruction> instructions, std::span<const Window> operands,
                   std::span<const Window> outputs, int64_t rows, int64_t cols) {
  Scratch scratch;
  const int64_t chunk_cols = std::min(cols, kChunk);
  const int64_t chunk_rows = std::max<int64_t>(1, kChunk / std::max<int64_t>(chunk_cols, 1));
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
