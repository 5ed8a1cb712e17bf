#include "exec/memory_plan.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "exec/memory_outline.h"
#include "exec/sharing.h"
#include "tensor/tensor.h"

namespace fettle::exec {
namespace {

int64_t AlignUp(int64_t bytes) {
  constexpr auto kAlign = static_cast<int64_t>(kTensorAlignment);
  return (bytes + kAlign - 1) / kAlign * kAlign;
}

/// Decides for each root whether it is bound to a graph input or output; -1 means the arena.
struct Binding {
  std::vector<int> input, output;
};

Binding Bind(const Plan& plan, const Sharing& sharing, std::span<const int64_t> bytes,
             std::vector<int>& copied_outputs) {
  Binding binding{std::vector<int>(plan.tensors.size(), -1),
                  std::vector<int>(plan.tensors.size(), -1)};
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    binding.input[plan.inputs[i]] = static_cast<int>(i);
  }
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    if (plan.outputs[i] < 0) continue;
    const size_t root = sharing.root(plan.outputs[i]);
    const bool whole = sharing.offset(plan.outputs[i]) == 0 &&
                       sharing.life(static_cast<int>(root)).bytes == bytes[plan.outputs[i]];
    if (whole && binding.output[root] < 0 && binding.input[root] < 0) {
      binding.output[root] = static_cast<int>(i);
    } else {
      copied_outputs.push_back(static_cast<int>(i));
    }
  }
  return binding;
}

/// Images handed from tensor to tensor as they die.
class ImagePool {
 public:
  explicit ImagePool(std::vector<MemoryRequest>& images) : images_(images) {}

  /// The image for a tensor that lives during `life`; tensors come in the order of their first use.
  size_t Take(const MemoryRequest& wanted, const Interval& life) {
    size_t best = images_.size();
    int64_t best_growth = Area(wanted);
    for (size_t i = 0; i < images_.size(); ++i) {
      if (last_[i] >= life.first || images_[i].kind != wanted.kind ||
          images_[i].storage != wanted.storage)
        continue;
      const int64_t growth = Area(Union(images_[i], wanted)) - Area(images_[i]);
      if (growth >= best_growth) continue;
      best = i;
      best_growth = growth;
    }
    if (best == images_.size()) {
      images_.push_back(wanted);
      last_.push_back(life.last);
    } else {
      images_[best] = Union(images_[best], wanted);
      last_[best] = life.last;
    }
    return best;
  }

 private:
  static int64_t Area(const MemoryRequest& image) { return image.width * image.height; }
  static MemoryRequest Union(MemoryRequest a, const MemoryRequest& b) {
    a.width = std::max(a.width, b.width);
    a.height = std::max(a.height, b.height);
    a.bytes = StorageBytes(a.storage, Area(a) * 4);
    return a;
  }

  std::vector<MemoryRequest>& images_;
  std::vector<int> last_;
};

/// Lays out what is not bound to inputs and outputs.
class Placer {
 public:
  Placer(const Plan& plan, const Sharing& sharing, const Binding& binding)
      : plan_(plan), sharing_(sharing), binding_(binding), place_of_(plan.tensors.size()) {}

  MemoryPlan Run(std::span<const DeviceKind> devices, std::span<const int64_t> workspace_bytes) {
    memory_.workspaces.assign(workspace_bytes.size(), 0);
    memory_.devices.resize(devices.size());
    for (size_t d = 0; d < devices.size(); ++d) {
      PlaceImages(devices[d], static_cast<int>(d));
      PlaceBytes(devices[d], static_cast<int>(d), workspace_bytes);
      memory_.devices[d].live_bytes = LiveBytes(devices[d], workspace_bytes);
    }
    for (size_t t = 0; t < plan_.tensors.size(); ++t) memory_.tensors.push_back(PlacementOf(t));
    return std::move(memory_);
  }

 private:
  const Interval& LifeOf(size_t tensor) const { return sharing_.life(static_cast<int>(tensor)); }

  /// Whether `tensor` owns bytes that have to be found somewhere.
  bool NeedsPlace(size_t tensor) const {
    return sharing_.root(static_cast<int>(tensor)) == static_cast<int>(tensor) &&
           binding_.input[tensor] < 0 && binding_.output[tensor] < 0 && LifeOf(tensor).last >= 0;
  }

  /// The tensors that own bytes, or an image, of a device.
  std::vector<size_t> PlacedOn(DeviceKind device, bool in_images) const {
    std::vector<size_t> tensors;
    for (size_t t = 0; t < plan_.tensors.size(); ++t) {
      const State& state = plan_.tensors[t].state;
      if (NeedsPlace(t) && state.device == device && IsImage(state.memory) == in_images)
        tensors.push_back(t);
    }
    return tensors;
  }

  void PlaceImages(DeviceKind device, int index) {
    std::vector<size_t> order = PlacedOn(device, /*in_images=*/true);
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return LifeOf(a).first < LifeOf(b).first; });
    std::vector<MemoryRequest>& images = memory_.devices[index].images;
    ImagePool pool(images);
    for (size_t t : order) {
      const PlannedTensor& tensor = plan_.tensors[t];
      const size_t image = pool.Take(RequestFor(tensor.shape, tensor.state), LifeOf(t));
      const auto same = std::count_if(
          images.begin(), images.begin() + static_cast<ptrdiff_t>(image),
          [&](const MemoryRequest& other) { return other.storage == tensor.state.storage; });
      place_of_[t] = {Placement::Kind::kImage, static_cast<int>(same), 0, index};
      if (marks::On())
        memory_.devices[index].image_lives.push_back(
            {tensor.state.storage, static_cast<int>(same), LifeOf(t).first});
    }
  }

  /// Tensors, and the workspaces of the steps that run there.
  void PlaceBytes(DeviceKind device, int index, std::span<const int64_t> workspace_bytes) {
    const std::vector<size_t> tensors = PlacedOn(device, /*in_images=*/false);
    std::vector<Interval> intervals;
    std::vector<size_t> steps;
    for (size_t t : tensors) intervals.push_back(LifeOf(t));
    for (size_t i = 0; i < workspace_bytes.size(); ++i) {
      if (DeviceOf(plan_, plan_.steps[i]) != device) continue;
      steps.push_back(i);
      intervals.push_back({workspace_bytes[i], static_cast<int>(i), static_cast<int>(i)});
    }
    const ArenaPlan arena = PlanArena(intervals);
    memory_.devices[index].bytes = arena.bytes;
    for (size_t i = 0; i < tensors.size(); ++i)
      place_of_[tensors[i]] = {Placement::Kind::kBytes, 0, arena.offsets[i], index};
    for (size_t i = 0; i < steps.size(); ++i)
      memory_.workspaces[steps[i]] = arena.offsets[tensors.size() + i];
    for (size_t i = 0; marks::On() && i < intervals.size(); ++i)
      if (intervals[i].bytes > 0)
        memory_.devices[index].blocks.push_back(
            {arena.offsets[i], intervals[i].bytes, intervals[i].first, intervals[i].last});
  }

  int64_t LiveBytes(DeviceKind device, std::span<const int64_t> workspace_bytes) const {
    // What comes to life at each step, less what has died before it; what is copied at the end: the
    // last.
    std::vector<int64_t> change(workspace_bytes.size() + 2, 0);
    for (const bool in_images : {false, true}) {
      for (const size_t t : PlacedOn(device, in_images)) {
        if (LifeOf(t).first > LifeOf(t).last) continue;
        change[LifeOf(t).first] += LifeOf(t).bytes;
        change[LifeOf(t).last + 1] -= LifeOf(t).bytes;
      }
    }
    int64_t live = 0, most = 0;
    for (size_t i = 0; i <= workspace_bytes.size(); ++i) {
      live += change[i];
      const bool works = i < workspace_bytes.size() && DeviceOf(plan_, plan_.steps[i]) == device;
      most = std::max(most, live + (works ? workspace_bytes[i] : 0));
    }
    return most;
  }

  Placement PlacementOf(size_t tensor) const {
    const size_t root = sharing_.root(static_cast<int>(tensor));
    const int64_t offset = sharing_.offset(static_cast<int>(tensor));
    if (binding_.input[root] >= 0) return {Placement::Kind::kInput, binding_.input[root], offset};
    if (binding_.output[root] >= 0)
      return {Placement::Kind::kOutput, binding_.output[root], offset};
    Placement placement = place_of_[root];
    placement.offset += offset;
    return placement;
  }

  const Plan& plan_;
  const Sharing& sharing_;
  const Binding& binding_;
  std::vector<Placement> place_of_;  // by root
  MemoryPlan memory_;
};

/// Intervals by the steps that they live in, so that those which live at a time are found without
/// the others.
class Timeline {
 public:
  explicit Timeline(std::span<const Interval> intervals) : intervals_(intervals) {
    int steps = 1;
    for (const Interval& interval : intervals)
      steps = std::max({steps, interval.first + 1, interval.last + 1});
    leaves_ = std::bit_ceil(static_cast<size_t>(steps));
    covers_.resize(2 * leaves_);
    begins_.resize(leaves_);
  }

  void Add(size_t id) {
    begins_[First(id)].push_back(id);
    // The fewest nodes of a tree over the steps that make up its life.
    size_t low = First(id) + leaves_, high = Last(id) + leaves_ + 1;
    for (; low < high; low /= 2, high /= 2) {
      if (low % 2 == 1) covers_[low++].push_back(id);
      if (high % 2 == 1) covers_[--high].push_back(id);
    }
  }

  /// Those added that share a step with `id`.
  std::vector<size_t> Beside(size_t id) const {
    std::vector<size_t> beside;
    const auto add = [&](const std::vector<size_t>& ids) {
      beside.insert(beside.end(), ids.begin(), ids.end());
    };
    for (size_t node = First(id) + leaves_; node > 0; node /= 2) add(covers_[node]);
    for (size_t step = First(id) + 1; step <= Last(id); ++step) add(begins_[step]);
    return beside;
  }

 private:
  size_t First(size_t id) const { return std::max(intervals_[id].first, 0); }
  size_t Last(size_t id) const { return std::max(intervals_[id].last, intervals_[id].first); }

  std::span<const Interval> intervals_;
  size_t leaves_ = 1;
  std::vector<std::vector<size_t>> covers_, begins_;
};

/// As many intervals are looked at one by one; the rest is found by when it lives.
constexpr size_t kFewIntervals = 512;

/// PlanArena of few intervals, in `order`.
void PlaceFew(std::span<const Interval> intervals, std::span<const size_t> order, ArenaPlan& plan) {
  struct Placed {
    int64_t begin, end;
    int first, last;
  };
  std::vector<Placed> placed;  // by where they begin
  placed.reserve(order.size());
  for (size_t i : order) {
    const Interval& interval = intervals[i];
    if (interval.bytes == 0) continue;
    const int64_t size = BlockBytes(interval.bytes);
    const int first = std::max(interval.first, 0), last = std::max(interval.last, interval.first);
    int64_t at = 0;
    for (const Placed& other : placed) {
      if (other.last < first || last < other.first) continue;
      if (at + size <= other.begin) break;
      at = std::max(at, other.end);
    }
    plan.offsets[i] = at;
    plan.bytes = std::max(plan.bytes, at + size);
    placed.insert(std::ranges::upper_bound(placed, at, {}, &Placed::begin),
                  {at, at + size, first, last});
  }
}

}  // namespace

int64_t BlockBytes(int64_t bytes) { return AlignUp(bytes + BlockGap()); }

ArenaPlan PlanArena(std::span<const Interval> intervals) {
  std::vector<size_t> order(intervals.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return intervals[a].bytes > intervals[b].bytes; });
  ArenaPlan plan;
  plan.offsets.assign(intervals.size(), 0);
  if (intervals.size() <= kFewIntervals) {
    PlaceFew(intervals, order, plan);
    return plan;
  }
  Timeline placed(intervals);
  for (size_t i : order) {
    if (intervals[i].bytes == 0) continue;
    const int64_t size = BlockBytes(intervals[i].bytes);
    int64_t at = 0;
    std::vector<size_t> beside = placed.Beside(i);
    std::ranges::sort(beside, {}, [&](size_t other) { return plan.offsets[other]; });
    for (size_t other : beside) {
      if (at + size <= plan.offsets[other]) break;
      at = std::max(at, plan.offsets[other] + BlockBytes(intervals[other].bytes));
    }
    plan.offsets[i] = at;
    plan.bytes = std::max(plan.bytes, at + size);
    placed.Add(i);
  }
  return plan;
}

MemoryPlan PlanMemory(const Plan& plan, std::span<const DeviceKind> devices,
                      std::span<const std::vector<kernels::Alias>> aliases,
                      std::span<const int64_t> workspace_bytes) {
  return PlanMemory(plan, devices, {aliases, workspace_bytes, {}, TensorBytes(plan)});
}

MemoryPlan PlanMemory(const Plan& plan, std::span<const DeviceKind> devices,
                      const MemoryNeeds& needs, MemoryOutline* outline) {
  const Sharing sharing(plan, needs.aliases, needs.windows, needs.bytes);
  std::vector<int> copied_outputs;
  const Binding binding = Bind(plan, sharing, needs.bytes, copied_outputs);
  MemoryPlan memory = Placer(plan, sharing, binding).Run(devices, needs.workspaces);
  memory.copied_outputs = std::move(copied_outputs);
  if (outline != nullptr) outline->Keep(plan, sharing, needs, memory);
  return memory;
}

std::vector<int64_t> TensorBytes(const Plan& plan) {
  std::vector<int64_t> bytes;
  bytes.reserve(plan.tensors.size());
  for (const PlannedTensor& tensor : plan.tensors)
    bytes.push_back(StateBytes(tensor.shape, tensor.state));
  return bytes;
}

}  // namespace fettle::exec
