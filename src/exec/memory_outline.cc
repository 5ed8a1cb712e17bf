#include "exec/memory_outline.h"

#include <algorithm>
#include <numeric>

namespace fettle::exec {
namespace {

/// The most blocks whose order is found, because that takes time quadratic in their number.
constexpr size_t kMostBlocks = 1024;
/// How much larger a layout may be than the one that was kept, beside what lives at a time.
constexpr double kWorse = 1.1;
constexpr int64_t kLittle = 16384;

bool IsSame(const kernels::Alias& a, const kernels::Alias& b) {
  return a.output == b.output && a.input == b.input && a.is_view == b.is_view;
}

int64_t OffsetOf(const Sharing::Attachment& attachment, const MemoryNeeds& needs) {
  if (attachment.window >= 0) return needs.windows[attachment.window].byte_offset;
  if (attachment.step < 0) return 0;
  return needs.aliases[attachment.step][attachment.alias].byte_offset;
}

bool IsWhole(int output, std::span<const int> roots, std::span<const int64_t> offsets,
             std::span<const int64_t> owned, std::span<const int64_t> bytes) {
  return offsets[output] == 0 && owned[roots[output]] == bytes[output];
}

}  // namespace

void MemoryOutline::Keep(const Plan& plan, const Sharing& sharing, const MemoryNeeds& needs,
                         const MemoryPlan& memory) {
  holds_ = false;
  aliases_.assign(needs.aliases.begin(), needs.aliases.end());
  windows_.assign(needs.windows.begin(), needs.windows.end());
  attachments_ = sharing.attachments();
  reuses_ = sharing.reuses();
  first_roots_ = sharing.first_roots();
  roots_.clear();
  for (size_t t = 0; t < plan.tensors.size(); ++t)
    roots_.push_back(sharing.root(static_cast<int>(t)));
  memory_ = memory;
  if (!SetShares(plan, needs)) return;
  whole_.clear();
  for (int output : plan.outputs)
    whole_.push_back(output >= 0 && IsWhole(output, roots_, offsets_, owned_, needs.bytes));
  KeepBlocks(plan, sharing, needs, memory);
  const DeviceNeeds& cpu = memory.devices[0];
  gaps_ =
      static_cast<double>(cpu.bytes) / static_cast<double>(std::max<int64_t>(cpu.live_bytes, 1));
  holds_ = blocks_.size() <= kMostBlocks && !marks::On();
}

void MemoryOutline::KeepBlocks(const Plan& plan, const Sharing& sharing, const MemoryNeeds& needs,
                               const MemoryPlan& memory) {
  blocks_.clear();
  empty_.clear();
  std::vector<int64_t> begins;
  const auto add = [&](const Block& block, int64_t begin) {
    if (BytesOf(block, needs) == 0) return empty_.push_back(block);
    blocks_.push_back(block);
    begins.push_back(begin);
  };
  for (int t = 0; t < static_cast<int>(plan.tensors.size()); ++t) {
    const Interval& life = sharing.life(t);
    if (roots_[t] == t && life.last >= 0 && memory.tensors[t].kind == Placement::Kind::kBytes)
      add({t, -1, life.first, std::max(life.first, life.last)}, memory.tensors[t].offset);
  }
  for (int i = 0; i < static_cast<int>(plan.steps.size()); ++i)
    add({-1, i, i, i}, memory.workspaces[i]);
  if (blocks_.size() <= kMostBlocks) FindBelow(begins);
}

void MemoryOutline::FindBelow(std::span<const int64_t> begins) {
  std::vector<size_t> order(blocks_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t i) { return begins[i]; });
  std::vector<Block> sorted;
  below_.clear();
  for (const size_t i : order) {
    Block block = blocks_[i];
    const auto begin = static_cast<ptrdiff_t>(below_.size());
    for (auto k = static_cast<int>(sorted.size()); k-- > 0;) {
      const auto is_beside = [&](int other) { return sorted[k].is_beside(sorted[other]); };
      if (block.is_beside(sorted[k]) &&
          std::none_of(below_.begin() + begin, below_.end(), is_beside))
        below_.push_back(k);
    }
    block.below_end = below_.size();
    sorted.push_back(block);
  }
  blocks_ = std::move(sorted);
}

bool MemoryOutline::HasAliases(std::span<const std::vector<kernels::Alias>> aliases) const {
  for (size_t i = 0; i < aliases_.size(); ++i)
    if (!std::ranges::equal(aliases[i], aliases_[i], IsSame)) return false;
  return true;
}

bool MemoryOutline::HasWindows(std::span<const TensorWindow> windows) const {
  return std::ranges::equal(windows, windows_, [](const TensorWindow& a, const TensorWindow& b) {
    return a.tensor == b.tensor && a.of == b.of;
  });
}

bool MemoryOutline::SetShares(const Plan& plan, const MemoryNeeds& needs) {
  const size_t tensors = plan.tensors.size();
  offsets_.assign(tensors, 0);
  owned_.assign(tensors, 0);
  for (const Sharing::Attachment& attachment : attachments_)
    offsets_[attachment.tensor] = offsets_[attachment.parent] + OffsetOf(attachment, needs);
  for (size_t t = 0; t < tensors; ++t) {
    int64_t& owned = owned_[first_roots_[t]];
    owned = std::max(owned, offsets_[t] + needs.bytes[t]);
  }
  return std::ranges::all_of(reuses_, [&](const Sharing::Reuse& reuse) {
    return offsets_[reuse.read] == 0 && owned_[reuse.written] <= owned_[reuse.root];
  });
}

int64_t MemoryOutline::Place(const MemoryNeeds& needs) {
  int64_t all = 0;
  ends_.resize(blocks_.size());
  size_t at = 0;
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const Block& block = blocks_[i];
    int64_t begin = 0;
    for (; at < block.below_end; ++at) begin = std::max(begin, ends_[below_[at]]);
    const int64_t bytes = BytesOf(block, needs);
    ends_[i] = begin + (bytes == 0 ? 0 : BlockBytes(bytes));
    all = std::max(all, ends_[i]);
    (block.step >= 0 ? memory_.workspaces[block.step] : starts_[block.tensor]) = begin;
  }
  return all;
}

int64_t MemoryOutline::LiveBytes(const MemoryNeeds& needs) {
  change_.assign(needs.workspaces.size() + 2, 0);
  for (const Block& block : blocks_) {
    if (block.tensor < 0) continue;
    change_[block.first] += owned_[block.tensor];
    change_[block.last + 1] -= owned_[block.tensor];
  }
  int64_t live = 0, most = 0;
  for (size_t i = 0; i <= needs.workspaces.size(); ++i) {
    live += change_[i];
    most = std::max(most, live + (i < needs.workspaces.size() ? needs.workspaces[i] : 0));
  }
  return most;
}

bool MemoryOutline::LayOut(const Plan& plan, const MemoryNeeds& needs, MemoryPlan& memory) {
  if (!holds_ || !HasAliases(needs.aliases) || !HasWindows(needs.windows) ||
      !SetShares(plan, needs))
    return false;
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    const int output = plan.outputs[i];
    if (output >= 0 && IsWhole(output, roots_, offsets_, owned_, needs.bytes) != whole_[i])
      return false;
  }
  if (std::ranges::any_of(empty_, [&](const Block& block) { return BytesOf(block, needs) > 0; }))
    return false;
  starts_.assign(plan.tensors.size(), 0);
  DeviceNeeds& cpu = memory_.devices[0];
  cpu.bytes = Place(needs);
  cpu.live_bytes = LiveBytes(needs);
  if (static_cast<double>(cpu.bytes - kLittle) >
      kWorse * gaps_ * static_cast<double>(cpu.live_bytes))
    return false;
  for (size_t t = 0; t < plan.tensors.size(); ++t)
    memory_.tensors[t].offset = offsets_[t] + starts_[roots_[t]];
  memory = memory_;
  return true;
}

}  // namespace fettle::exec
