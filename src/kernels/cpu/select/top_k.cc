// cpu.top_k: elements become integers of the same order, of which a row's first ones are kept.
#include <algorithm>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/operands.h"
#include "kernels/family.h"
#include "ops/element_access.h"
#include "ops/op.h"
#include "ops/select/op.h"

namespace fettle::kernels {
namespace {

/// The first `k` of each row of an input [outer, extent, inner].
struct Selection {
  int64_t outer, extent, inner, k = 0;
  DType dtype;
  bool largest;
};

/// Bits of elements as numbers whose order is that of the values, NaN the largest.
struct BitOrder {
  uint64_t sign = 0;      // the highest bit, where there is a sign
  uint64_t infinity = 0;  // of floats: what is beyond it is NaN; 0: integers
  bool largest = false;   // the largest value gets the smallest number
};

BitOrder OrderOf(DType dtype, bool largest) {
  BitOrder order{.largest = largest};
  if (IsFloat(dtype) || IsSigned(dtype)) order.sign = uint64_t{1} << (8 * ByteSize(dtype) - 1);
  switch (dtype) {
    case DType::kF8E4M3FN: order.infinity = 0x7e; break;  // has no infinity
    case DType::kF8E5M2: order.infinity = 0x7c; break;
    case DType::kF16: order.infinity = 0x7c00; break;
    case DType::kBF16: order.infinity = 0x7f80; break;
    case DType::kF32: order.infinity = 0x7f800000; break;
    case DType::kF64: order.infinity = 0x7ff0000000000000; break;
    default: break;
  }
  return order;
}

/// The numbers of `n` elements that lie `stride` of them apart.
template <typename U, typename Key>
void MakeKeys(const U* x, int64_t stride, int64_t n, const BitOrder& order, Key* keys) {
  const auto sign = static_cast<U>(order.sign), infinity = static_cast<U>(order.infinity);
  const auto flip = static_cast<U>(order.largest ? ~U{0} : U{0});
  if (infinity == 0) {
    for (int64_t i = 0; i < n; ++i) keys[i] = static_cast<U>(x[i * stride] ^ sign ^ flip);
    return;
  }
  const auto magnitudes = static_cast<U>(sign - 1);
  for (int64_t i = 0; i < n; ++i) {
    const U bits = x[i * stride], magnitude = static_cast<U>(bits & magnitudes);
    // Negative numbers count down from the sign; both zeros are one.
    U key = static_cast<U>(bits >= sign ? sign - magnitude : sign + magnitude);
    key = magnitude > infinity ? static_cast<U>(~U{0}) : key;
    keys[i] = static_cast<U>(key ^ flip);
  }
}

/// An element of a row: what comes first is less.
using ShortEntry = uint64_t;  // key, position
struct LongEntry {
  uint64_t key, position;
  bool operator<(const LongEntry& other) const {
    return key != other.key ? key < other.key : position < other.position;
  }
};
ShortEntry MakeEntry(uint32_t key, int64_t position) {
  return uint64_t{key} << 32 | static_cast<uint64_t>(position);
}
LongEntry MakeEntry(uint64_t key, int64_t position) {
  return {key, static_cast<uint64_t>(position)};
}
uint32_t KeyOf(ShortEntry entry) { return static_cast<uint32_t>(entry >> 32); }
uint64_t KeyOf(const LongEntry& entry) { return entry.key; }
int64_t PositionOf(ShortEntry entry) { return static_cast<uint32_t>(entry); }
int64_t PositionOf(const LongEntry& entry) { return static_cast<int64_t>(entry.position); }

/// Candidates that are kept until the k first of them are found.
int64_t CountCandidates(const Selection& of) { return std::min(of.extent, 2 * of.k + 64); }

/// The first k entries in order. A candidate comes before the k-th of those seen: few do.
template <typename Key, typename Entry>
void Select(const Key* keys, const Selection& of, Entry* entries) {
  const int64_t most = CountCandidates(of);
  int64_t count = 0;
  for (; count < most; ++count) entries[count] = MakeEntry(keys[count], count);
  const auto cut = [&] {
    if (count > of.k) std::nth_element(entries, entries + of.k - 1, entries + count);
    count = of.k;
    return KeyOf(entries[of.k - 1]);
  };
  Key last = cut();
  for (int64_t i = most; i < of.extent; ++i) {
    // Of equal ones the earlier comes first.
    if (keys[i] >= last) continue;
    entries[count++] = MakeEntry(keys[i], i);
    if (count == most) last = cut();
  }
  cut();
  std::sort(entries, entries + of.k);
}

class TopK final : public PreparedKernel {
 public:
  TopK(const Problem& problem, const Selection& selection)
      : group_(problem.group),
        operands_(*problem.group),
        threads_(problem.threads),
        of_(selection),
        order_(OrderOf(selection.dtype, selection.largest)),
        columns_(std::clamp<int64_t>(kKeysAtOnce / std::max<int64_t>(1, of_.extent), 1,
                                     std::clamp<int64_t>(of_.inner, 1, kMostColumns))) {}

  std::vector<PackRequest> packs() const override { return operands_.packs(*group_); }
  int64_t workspace_bytes() const override { return threads_ * LaneBytes(); }

  Status Launch(const LaunchArgs& args) const override {
    if (of_.k == 0 || of_.outer * of_.inner == 0) return OkStatus();
    const int64_t blocks = (of_.inner + columns_ - 1) / columns_;
    static_cast<CpuStream&>(args.stream)
        .ParallelFor(of_.outer * blocks, [&](int64_t task, int lane) {
          std::byte* scratch = args.workspace.host<std::byte>() + lane * LaneBytes();
          ops::DispatchElementSize(of_.dtype, [&]<typename U>() {
            if constexpr (sizeof(U) == 8) {
              RunColumns<U, uint64_t, LongEntry>(args, task / blocks, task % blocks, scratch);
            } else {
              RunColumns<U, uint32_t, ShortEntry>(args, task / blocks, task % blocks, scratch);
            }
          });
        });
    return OkStatus();
  }

 private:
  /// Numbers of several columns are made at once, so that rows of the input are read once.
  static constexpr int64_t kMostColumns = 16, kKeysAtOnce = 1 << 18;

  int64_t KeyBytes() const { return (columns_ * of_.extent * 8 + 63) / 64 * 64; }
  int64_t LaneBytes() const {
    return KeyBytes() +
           (CountCandidates(of_) * static_cast<int64_t>(sizeof(LongEntry)) + 63) / 64 * 64;
  }

  template <typename U, typename Key, typename Entry>
  void RunColumns(const LaunchArgs& args, int64_t outer, int64_t block, std::byte* scratch) const {
    const U* src = reinterpret_cast<const U*>(operands_.input(args, 0));
    U* values = reinterpret_cast<U*>(operands_.output(args, 0));
    auto* indices = reinterpret_cast<int64_t*>(operands_.output(args, 1));
    auto* keys = reinterpret_cast<Key*>(scratch);
    auto* entries = reinterpret_cast<Entry*>(scratch + KeyBytes());
    const int64_t first = block * columns_, count = std::min(columns_, of_.inner - first);
    const U* from = src + outer * of_.extent * of_.inner + first;
    constexpr int64_t kRows = 256;
    for (int64_t row = 0; row < of_.extent; row += kRows) {
      for (int64_t c = 0; c < count; ++c)
        MakeKeys(from + row * of_.inner + c, of_.inner, std::min(kRows, of_.extent - row), order_,
                 keys + c * of_.extent + row);
    }
    for (int64_t c = 0; c < count; ++c) {
      Select(keys + c * of_.extent, of_, entries);
      const int64_t to = outer * of_.k * of_.inner + first + c;
      for (int64_t i = 0; i < of_.k; ++i) {
        const int64_t position = PositionOf(entries[i]);
        if (values != nullptr) values[to + i * of_.inner] = from[position * of_.inner + c];
        if (indices != nullptr) indices[to + i * of_.inner] = position;
      }
    }
  }

  std::shared_ptr<const ir::Graph> group_;
  NodeOperands operands_;
  int64_t threads_;
  Selection of_;
  BitOrder order_;
  int64_t columns_;
};

Result<Selection> Read(const ir::Graph& group, const Device&) {
  if (group.nodes().size() != 1 || group.nodes()[0].op != "TopK"_op)
    return Unsupported("computes TopK only");
  const ir::Node& node = group.nodes()[0];
  const ir::Value& value = group.value(node.inputs[0]);
  const Shape& x = *value.shape;
  const int axis = *NormaliseAxis(node.attributes.Int("axis", -1), x.rank());
  Selection selection{.outer = x.Count(0, axis),
                      .extent = x[axis],
                      .inner = x.Count(axis + 1, x.rank()),
                      .dtype = value.dtype,
                      .largest = node.attributes.Int("largest", 1) != 0};
  for (ir::ValueId id : node.outputs) {
    if (id != ir::kAbsent) selection.k = (*group.value(id).shape)[axis];
  }
  return selection;
}

constexpr Family<Selection> kFamily{.read = Read,
                                    .states = RowMajorAlone,
                                    .prepare = Make<TopK>,
                                    .taste = Always<10>,
                                    .reads_callers_memory = true};

}  // namespace

extern const KernelDesc kCpuTopK;
const KernelDesc kCpuTopK = {.name = "cpu.top_k", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
