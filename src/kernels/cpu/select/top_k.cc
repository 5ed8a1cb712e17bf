// compiled: small
// cpu.top_k: elements become integers of the same order, of which a row's first ones are kept.
#include <algorithm>
#include <limits>

#include "kernels/cpu/operands.h"
#include "kernels/cpu/select/keys.h"
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

/// An element of a row: what comes first is less.
using ShortEntry = uint64_t;  // key, position
struct LongEntry {
  int64_t key, position;
  bool operator<(const LongEntry& other) const {
    return key != other.key ? key < other.key : position < other.position;
  }
};
constexpr uint32_t kSign = uint32_t{1} << 31;
ShortEntry MakeEntry(int32_t key, int64_t position) {
  return uint64_t{static_cast<uint32_t>(key) ^ kSign} << 32 | static_cast<uint64_t>(position);
}
LongEntry MakeEntry(int64_t key, int64_t position) { return {key, position}; }
int32_t KeyOf(ShortEntry entry) {
  return static_cast<int32_t>(static_cast<uint32_t>(entry >> 32) ^ kSign);
}
int64_t KeyOf(const LongEntry& entry) { return entry.key; }
int64_t PositionOf(ShortEntry entry) { return static_cast<uint32_t>(entry); }
int64_t PositionOf(const LongEntry& entry) { return entry.position; }

/// So few are kept in order; of more, candidates are kept until the k first of them are looked for.
constexpr int64_t kFew = 24;

/// A long row is looked at twice: first for a key that k elements do not come after, the k-th of
/// the least keys of so many groups.
constexpr int64_t kMostGroups = 1024, kLongRow = 128;
int64_t CountGroups(int64_t k) { return (k * 4 + kKeyColumns - 1) / kKeyColumns * kKeyColumns; }

/// Entries that are kept of a row; of its first elements all are.
int64_t CountKept(const Selection& of) {
  return of.k <= kFew ? of.k : std::min(of.extent, 2 * of.k + 64);
}

/// The first ones of a row so far.
template <typename Key, typename Entry>
struct Kept {
  Entry* entries;
  int64_t k, most, count = 0;

  /// What comes after it is none of them, nor is what is equal and lies behind it.
  Key limit() const { return KeyOf(entries[k - 1]); }

  /// Returns whether there is a new limit.
  bool Add(Key key, int64_t position) {
    Entry* at = entries + count;
    const Entry entry = MakeEntry(key, position);
    if (k > kFew) {
      *at = entry;
      if (++count < most) return false;
      Cut();
      return true;
    }
    if (count == k) {
      --at;
    } else {
      ++count;
    }
    for (; at > entries && entry < at[-1]; --at) *at = at[-1];
    *at = entry;
    return count == k;
  }

  void Finish() {
    if (k <= kFew) return;
    Cut();
    std::sort(entries, entries + k);
  }

 private:
  void Cut() {
    if (count > k) std::nth_element(entries, entries + k - 1, entries + count);
    count = k;
  }
};

class TopK final : public NodeKernel {
 public:
  TopK(const Problem& problem, const Selection& selection)
      : NodeKernel(problem),
        of_(selection),
        order_(selection.dtype, selection.largest),
        columns_(std::clamp<int64_t>(kEntriesAtOnce / std::max<int64_t>(1, CountKept(of_)), 1,
                                     std::clamp<int64_t>(of_.inner, 1, kKeyColumns))),
        units_per_task_(
            std::max<int64_t>(1, kKeysAtOnce / std::max<int64_t>(1, of_.extent * columns_))) {}

  Status Run(const CpuLaunch& args) const override {
    if (of_.k == 0 || of_.outer * of_.inner == 0) return OkStatus();
    const int64_t units = of_.outer * Blocks();
    args.stream.ParallelFor((units + units_per_task_ - 1) / units_per_task_,
                            [&](int64_t task, int lane) {
                              const int64_t first = task * units_per_task_;
                              const int64_t end = std::min(units, first + units_per_task_);
                              const bool maybe_short = order_.bytes < 8 || of_.dtype == DType::kI64;
                              if (maybe_short && RunAs<int32_t, ShortEntry>(args, first, end, lane))
                                return;
                              RunAs<int64_t, LongEntry>(args, first, end, lane);
                            });
    return OkStatus();
  }

 private:
  static constexpr int64_t kKeysAtOnce = 4096, kEntriesAtOnce = 1 << 16;

  int64_t Blocks() const { return (of_.inner + columns_ - 1) / columns_; }

  /// Units of columns or, where each is a row, several of them at once. Returns false, with
  /// something written, where an element has no such key.
  template <typename Key, typename Entry>
  bool RunAs(const CpuLaunch& args, int64_t first, int64_t end, int lane) const {
    if (of_.inner == 1 && (end - first) * of_.extent <= kKeysAtOnce)
      return RunRows<Key, Entry>(args, first, end, lane);
    const int64_t blocks = Blocks();
    for (int64_t unit = first; unit < end; ++unit) {
      if (!RunColumns<Key, Entry>(args, unit / blocks, unit % blocks, lane)) return false;
    }
    return true;
  }

  /// Short rows, of which the keys are made at once.
  template <typename Key, typename Entry>
  bool RunRows(const CpuLaunch& args, int64_t first, int64_t end, int lane) const {
    const std::byte* x = operands().input(args, 0) + first * of_.extent * order_.bytes;
    auto* keys = reinterpret_cast<Key*>(args.At(keys_, lane));
    auto* entries = reinterpret_cast<Entry*>(args.At(entries_, lane));
    if (!MakeKeys(order_, x, 1, (end - first) * of_.extent, 0, 0, keys)) return false;
    for (int64_t row = first; row < end; ++row, keys += of_.extent) {
      Kept<Key, Entry> kept{entries, of_.k, CountKept(of_)};
      Key limit = std::numeric_limits<Key>::min();
      const int64_t all = LimitFirst(keys, of_.extent, limit) ? 0 : kept.most;
      for (int64_t i = 0; i < of_.extent; ++i) {
        if (i >= all) i = FirstBelow(keys, i, of_.extent, limit);
        if (i == of_.extent) break;
        if (kept.Add(keys[i], i)) limit = kept.limit();
        if (of_.k == 1 && all == 0) break;  // the least one
      }
      WriteColumn(args, kept, x + (row - first) * of_.extent * order_.bytes, row, 0, 0);
    }
    return true;
  }

  template <typename Key, typename Entry>
  bool RunColumns(const CpuLaunch& args, int64_t outer, int64_t block, int lane) const {
    const int64_t first = block * columns_, count = std::min(columns_, of_.inner - first);
    const int64_t at = outer * of_.extent * of_.inner + first, most = CountKept(of_);
    const std::byte* x = operands().input(args, 0) + at * order_.bytes;
    auto* keys = reinterpret_cast<Key*>(args.At(keys_, lane));
    auto* entries = reinterpret_cast<Entry*>(args.At(entries_, lane));
    Kept<Key, Entry> kept[kKeyColumns];
    Key limits[kKeyColumns];
    std::fill_n(limits, kKeyColumns, std::numeric_limits<Key>::min());
    for (int64_t c = 0; c < count; ++c) kept[c] = {entries + c * most, of_.k, most};
    const int64_t width = columns_ == 1 ? 1 : kKeyColumns, rows = kKeysAtOnce / width;
    for (int64_t row = 0; row < of_.extent; row += rows) {
      const int64_t n = std::min(rows, of_.extent - row);
      const std::byte* from = x + row * of_.inner * order_.bytes;
      const bool made = of_.inner == 1 ? MakeKeys(order_, from, 1, n, 0, 0, keys)
                                       : MakeKeys(order_, from, n, count, of_.inner, width, keys);
      if (!made) return false;
      // Of the first elements all are kept where nothing limits them.
      const bool limited = row == 0 && width == 1 && LimitFirst(keys, n, limits[0]);
      const int64_t all = limited ? 0 : most - row;
      for (int64_t r = 0; r < n; ++r) {
        if (r >= all) r = Next(keys, r, n, width, limits);
        if (r == n) break;
        for (int64_t c = 0; c < count; ++c) {
          const Key key = keys[r * width + c];
          if ((r < all || key < limits[c]) && kept[c].Add(key, row + r))
            limits[c] = kept[c].limit();
        }
      }
    }
    for (int64_t c = 0; c < count; ++c) WriteColumn(args, kept[c], x, outer, first + c, c);
    return true;
  }

  template <typename Key, typename Entry>
  void WriteColumn(const CpuLaunch& args, Kept<Key, Entry>& kept, const std::byte* x, int64_t outer,
                   int64_t column, int64_t c) const {
    kept.Finish();
    ops::DispatchElementSize(
        of_.dtype, [&]<typename U>() { Write<U>(args, kept.entries, x, outer, column, c); });
  }

  /// Lets the limit be the least one that k of the first n keys are below, or somewhat more.
  /// Returns whether it did.
  template <typename Key>
  bool LimitFirst(const Key* keys, int64_t n, Key& limit) const {
    constexpr Key kLast = std::numeric_limits<Key>::max();
    if (of_.k == 1) {
      const Key least = LeastOf(keys, n);
      limit = least == kLast ? limit : least + 1;
      return least != kLast;
    }
    const int64_t groups = CountGroups(of_.k);
    if (groups > kMostGroups || n < std::max(2 * groups, kLongRow)) return false;
    Key least[kMostGroups];
    LeastOfGroups(keys, n, groups, least);
    std::nth_element(least, least + of_.k - 1, least + groups);
    if (least[of_.k - 1] == kLast) return false;
    limit = least[of_.k - 1] + 1;
    return true;
  }

  template <typename Key>
  static Key LeastOf(const Key* keys, int64_t n) {
    constexpr int64_t kGroups =
        4 * kKeyColumns;  // several vectors, which do not wait for each other
    if (n < kGroups) return *std::min_element(keys, keys + n);
    Key least[kGroups];
    LeastOfGroups(keys, n, kGroups, least);
    const Key rest = *std::min_element(keys + n / kGroups * kGroups - 1, keys + n);
    return std::min(rest, *std::min_element(least, least + kGroups));
  }

  /// The first row from `row` on that has a key below its limit.
  template <typename Key>
  static int64_t Next(const Key* keys, int64_t row, int64_t rows, int64_t width,
                      const Key* limits) {
    return width == 1 ? FirstBelow(keys, row, rows, limits[0])
                      : FirstRowBelow(keys, row, rows, limits);
  }

  template <typename U, typename Entry>
  void Write(const CpuLaunch& args, const Entry* entries, const std::byte* x, int64_t outer,
             int64_t column, int64_t c) const {
    const U* from = reinterpret_cast<const U*>(x) + c;
    U* values = reinterpret_cast<U*>(operands().output(args, 0));
    auto* indices = reinterpret_cast<int64_t*>(operands().output(args, 1));
    const int64_t to = outer * of_.k * of_.inner + column;
    for (int64_t i = 0; i < of_.k; ++i) {
      const int64_t position = PositionOf(entries[i]);
      if (values != nullptr) values[to + i * of_.inner] = from[position * of_.inner];
      if (indices != nullptr) indices[to + i * of_.inner] = position;
    }
  }

  Selection of_;
  KeyOrder order_;
  int64_t columns_, units_per_task_;
  LaneScratch<int64_t> keys_ = PerLane<int64_t>(kKeysAtOnce);
  LaneScratch<LongEntry> entries_ = PerLane<LongEntry>(columns_ * CountKept(of_));
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
                                    .takes_no_first_output = true,
                                    .reads_callers_memory = true};

}  // namespace

extern const KernelDesc kCpuTopK;
const KernelDesc kCpuTopK = {.name = "cpu.top_k", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
