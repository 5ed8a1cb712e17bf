// compiled: small
// cpu.resize.separable: Resize over any axes, in any layout that does not block them: input rows
// are blended into one row, then spread along the width. fp32, or u8 and i8: between
// DequantizeLinear and QuantizeLinear, or alone, where fractions are cut off.
#include <algorithm>
#include <cstring>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/layout/candidates.h"
#include "kernels/cpu/layout/pad_lanes.h"
#include "kernels/cpu/quantised/affine.h"
#include "kernels/cpu/resize/axis.h"
#include "kernels/cpu/resize/row.h"
#include "kernels/cpu/simd/storage.h"
#include "kernels/family.h"
#include "kernels/match/resize_taps.h"
#include "kernels/takes_extents.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

/// A group as it is in every layout; taps by axis.
struct Facts {
  Shape x, y;
  std::vector<ops::AxisTaps> taps;
  AffineGroup affine;
  /// By axis: how often each element follows itself, whatever the extents; empty where that is not
  /// all there is.
  std::vector<int64_t> repeats;
  std::shared_ptr<const ops::ResizeAttributes> resize;  // ResizeTaps::resize
};

/// [outer, height, width, inner] to [outer, height', width', inner]; the height is all axes from
/// the first that is resized to the one before the last.
struct ResizePlan {
  int64_t outer = 1, inner = 1;
  ResizeAxis height, width;
  AffineGroup affine;                          // without its node, which may go before the kernel
  PadLanes pads;                               // of the output
  DType from = DType::kF32, to = DType::kF32;  // what the operands are stored as
  std::vector<int64_t> repeats;                // Facts::repeats
  std::shared_ptr<const ops::ResizeAttributes> resize;
};

Result<ResizePlan> PlanIn(const Facts& facts, const Problem& problem);

bool IsHalf(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }

class Resize final : public CpuKernel, public MovesToExtents<Resize> {
 public:
  Resize(ResizePlan plan, int lanes)
      : CpuKernel(lanes),
        plan_(std::move(plan)),
        rounding_{plan_.affine.mul(), plan_.affine.add(), plan_.affine.least(),
                  plan_.affine.greatest(), plan_.affine.is_bare},
        picks_rows_(PicksElements(plan_.height.taps) && plan_.from == DType::kF32),
        picks_halves_(IsHalf(plan_.from) && plan_.from == plan_.to &&
                      PicksElements(plan_.height.taps) && PicksElements(plan_.width.taps)),
        table_(MakeSpreadTable(plan_.width.out, plan_.width.taps.taps, plan_.inner,
                               plan_.width.taps.index, plan_.width.taps.weight)) {
    rows_per_task_ = std::max<int64_t>(1, 8192 / std::max<int64_t>(OutRow(), 1));
    for (int64_t y = 0; y < plan_.height.out; ++y)
      is_as_before_.push_back(IsAsBefore(plan_.height.taps, y));
    picks_floats_ = picks_rows_ && plan_.to == DType::kF32 && PicksElements(plan_.width.taps) &&
                    table_.expanded && (table_.base.empty() || table_.base[0] < 0);
    doubles_ = (picks_halves_ || (picks_rows_ && plan_.to == DType::kF32)) && plan_.inner == 1 &&
               Doubles(plan_.width);
    doubles_pictures_ = doubles_ && Doubles(plan_.height);
  }

  bool takes_ones() const override { return !plan_.repeats.empty(); }
  bool MoveTo(const Problem& problem, const Device&) override {
    Facts facts{.affine = plan_.affine,
                .repeats = std::move(plan_.repeats),
                .resize = std::move(plan_.resize)};
    facts.x = problem.shape(facts.affine.input);
    facts.y = problem.shape(problem.group->outputs[0]);
    facts.taps = TapsOfAxes(facts.x, facts.y, facts.repeats, facts.resize.get());
    if (facts.taps.empty()) return false;
    Result<ResizePlan> plan = PlanIn(facts, problem);
    if (!plan.ok()) return false;
    *this = Resize(std::move(*plan), problem.threads);
    return true;
  }

  Status Run(const CpuLaunch& args) const override {
    const int64_t rows = plan_.outer * plan_.height.out;
    if (OutRow() == 0) return OkStatus();
    if (doubles_pictures_) {
      DoublePictures(args);
      return OkStatus();
    }
    const int64_t tasks = (rows + rows_per_task_ - 1) / rows_per_task_;
    args.stream.ParallelFor(tasks, [&](int64_t task, int lane) {
      float* scratch = args.At(rows_, lane);
      const int64_t end = std::min(rows, (task + 1) * rows_per_task_);
      for (int64_t row = task * rows_per_task_; row < end;) {
        int64_t count = 1;
        while (row + count < end && is_as_before_[(row + count) % plan_.height.out] != 0) ++count;
        Rows(args, row, count, scratch);
        row += count;
      }
    });
    plan_.pads.Zero(args.stream, args.outputs[0].host<std::byte>());
    return OkStatus();
  }

 private:
  static constexpr int64_t kReadBehind = 16;  // elements, by a spread

  int64_t InRow() const { return plan_.width.in * plan_.inner; }
  int64_t OutRow() const { return plan_.width.out * plan_.inner; }

  /// Whether a row is read where it is copied to, as memory behind the input may be a stranger's.
  bool IsNearEnd(int64_t image, int64_t row) const {
    return ((plan_.outer - image) * plan_.height.in - row - 1) * InRow() < kReadBehind;
  }

  /// A row of elements that stay as they are.
  template <typename T>
  void PickElements(const T* from, T* to) const {
    if (table_.expanded) {
      for (int64_t i = 0; i < OutRow(); ++i) to[i] = from[table_.index[i]];
      return;
    }
    for (int64_t i = 0; i < table_.count; ++i, to += table_.inner)
      std::copy_n(from + table_.index[i] * table_.inner, table_.inner, to);
  }

  void PickRow(const std::byte* from, std::byte* to) const {
    if (picks_floats_)
      return PickElements(reinterpret_cast<const float*>(from), reinterpret_cast<float*>(to));
    PickElements(reinterpret_cast<const uint16_t*>(from), reinterpret_cast<uint16_t*>(to));
  }

  /// Pictures of twice the height and width, in any layout without padding.
  void DoublePictures(const CpuLaunch& args) const {
    const int64_t rows = plan_.outer * plan_.height.in, bytes = StorageBytes(plan_.to, 1);
    const int64_t tasks = (rows + rows_per_task_ - 1) / rows_per_task_, row = InRow() * bytes;
    args.stream.ParallelFor(tasks, [&](int64_t task, int) {
      const int64_t begin = task * rows_per_task_, end = std::min(rows, begin + rows_per_task_);
      DoubleRows(bytes, args.inputs[0].host<std::byte>() + begin * row, InRow(), 2, end - begin,
                 args.outputs[0].host<std::byte>() + begin * row * 4);
    });
  }

  /// `count` rows that are the same.
  void Rows(const LaunchArgs& args, int64_t row, int64_t count, float* scratch) const {
    const int64_t bytes = StorageBytes(plan_.to, OutRow());
    std::byte* out = args.outputs[0].host<std::byte>() + row * bytes;
    if (doubles_) {
      const int64_t image = row / plan_.height.out, y = row % plan_.height.out;
      const int64_t from = image * plan_.height.in + plan_.height.taps.index[y];
      const int64_t element = StorageBytes(plan_.to, 1);
      return DoubleRows(element, args.inputs[0].host<std::byte>() + from * InRow() * element,
                        InRow(), count, 1, out);
    }
    Row(args, row, scratch);
    for (int64_t i = 1; i < count; ++i) std::memcpy(out + i * bytes, out, bytes);
  }

  /// Row `y` of picture `image`, which begins at `x`, not spread yet.
  const float* Blended(const std::byte* x, int64_t image, int64_t y, float* scratch) const {
    const ops::AxisTaps& taps = plan_.height.taps;
    const bool widens = IsHalf(plan_.from);
    auto* widened = reinterpret_cast<std::byte*>(scratch + InRow() + OutRow());
    BlendedRows rows;
    bool adds = false;
    for (int t = 0; t < taps.taps; ++t) {
      const size_t at = y * taps.taps + t;
      const std::byte* from = x + StorageBytes(plan_.from, taps.index[at] * InRow());
      if (picks_rows_ && !IsNearEnd(image, taps.index[at]))
        return reinterpret_cast<const float*>(from);
      if (widens) ConvertRow(plan_.from, from, DType::kF32, widened, InRow());
      rows.from[rows.count] = widens ? widened : from;
      rows.weight[rows.count++] = static_cast<float>(taps.weight[at]);
      if (!widens && rows.count < BlendedRows::kMost && t + 1 < taps.taps) continue;
      BlendRows(widens ? DType::kF32 : plan_.from, rows, adds, InRow(), scratch);
      adds = true;
      rows.count = 0;
    }
    return scratch;
  }

  void Row(const LaunchArgs& args, int64_t row, float* scratch) const {
    const int64_t image = row / plan_.height.out, y = row % plan_.height.out;
    const ops::AxisTaps& taps = plan_.height.taps;
    const std::byte* x = args.inputs[0].host<std::byte>() +
                         StorageBytes(plan_.from, image * plan_.height.in * InRow());
    std::byte* out = args.outputs[0].host<std::byte>() + StorageBytes(plan_.to, row * OutRow());
    if (picks_halves_ || picks_floats_)
      return PickRow(x + StorageBytes(plan_.from, taps.index[y] * InRow()), out);
    const float* blended = Blended(x, image, y, scratch);
    const bool is_direct = plan_.to == DType::kF32;
    float* spread = is_direct ? reinterpret_cast<float*>(out) : scratch + InRow();
    SpreadRow(table_, blended, spread);
    if (plan_.affine.to.is_integer()) {
      StoreRounded(plan_.to, spread, rounding_, OutRow(), out);
    } else if (!is_direct) {
      ConvertRow(DType::kF32, reinterpret_cast<const std::byte*>(spread), plan_.to, out, OutRow());
    }
  }

  ResizePlan plan_;
  ByteRounding rounding_;
  bool picks_rows_, picks_halves_, doubles_ = false, doubles_pictures_ = false;
  bool picks_floats_ = false;  // too far apart for shuffles; gathers take longer than single loads
  std::vector<char> is_as_before_;  // by row of a picture
  SpreadTable table_;
  int64_t rows_per_task_ = 1;
  /// Blended, spread and widened; a spread reads a vector behind the row.
  LaneScratch<float> rows_ =
      PerLane<float>(InRow() * (IsHalf(plan_.from) ? 2 : 1) + OutRow() + kReadBehind);
};

/// Facts::repeats of a Resize by scales, which are whole numbers.
std::vector<int64_t> RepeatsOf(const ir::Graph& group, const ir::Node& node, const Facts& facts) {
  constexpr int64_t kFew = 3;  // of so many elements one is not at a border
  const std::string mode = node.attributes.Text("coordinate_transformation_mode", "half_pixel");
  const auto scales = node.input(2) == ir::kAbsent ? nullptr : group.value(node.input(2)).constant;
  if (mode == "align_corners" || mode == "tf_crop_and_resize" || node.attributes.Has("axes") ||
      scales == nullptr || scales->elements() != facts.x.rank())
    return {};
  std::vector<int64_t> repeats;
  for (int axis = 0; axis < facts.x.rank(); ++axis) {
    const int64_t times = facts.y[axis] / facts.x[axis];
    const ops::AxisTaps& taps = facts.taps[axis];
    if (facts.y[axis] != times * facts.x[axis] || !PicksElements(taps) || times == 0 ||
        (times > 1 && facts.x[axis] < kFew) ||
        scales->GetDouble(axis) != static_cast<double>(times) ||
        taps.index != RepeatedTaps(facts.x[axis], times).index)
      return {};
    repeats.push_back(times);
  }
  return repeats;
}

Result<Facts> Read(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(const AffineGroup affine,
                   ReadAffineGroup(group, [](const ir::Node&) { return true; }));
  ASSIGN_OR_RETURN(ResizeTaps resize, ReadResizeTaps(group, *affine.node));
  Facts facts{*group.value(affine.input).shape, resize.output, std::move(resize.taps), affine};
  facts.resize = std::move(resize.resize);
  facts.repeats = RepeatsOf(group, *affine.node, facts);
  facts.affine.node = nullptr;
  return facts;
}

Result<ResizePlan> MakePlan(const Facts& facts, const Layout& layout) {
  // Entries of the table of rows: more are other operators than resampling of pictures.
  constexpr int64_t kMostTaps = int64_t{1} << 22;
  ResizePlan plan{.affine = facts.affine};
  plan.height = plan.width = KeptAxis(1);
  bool any = false;
  const PhysicalDims dims = ToPhysical(facts.x, layout);
  for (size_t i = 0; i < dims.extent.size(); ++i) {
    const int axis = dims.axis[i];
    const ops::AxisTaps& taps = facts.taps[axis];
    if (taps.IsIdentity(facts.x[axis])) {
      (any ? plan.inner : plan.outer) *= dims.extent[i];
      continue;
    }
    if (layout.BlockOf(axis) != 1) return Unsupported("the resized axes are blocked");
    if (any) {
      const int64_t rows = plan.height.out * plan.width.out * plan.inner;
      const int64_t most = kMostTaps / (plan.height.taps.taps * plan.width.taps.taps);
      if (rows > most) return Unsupported("too many rows between the resized axes");
      plan.height = JoinedAxes(JoinedAxes(plan.height, plan.width), KeptAxis(plan.inner));
    }
    plan.width = {facts.x[axis], facts.y[axis], taps};
    plan.inner = 1;
    any = true;
  }
  if (plan.inner == 1 && AreSmall(plan.height, plan.width)) {
    plan.width = JoinedAxes(plan.height, plan.width);
    plan.height = KeptAxis(1);
  }
  if (plan.width.in * plan.inner > INT32_MAX) return Unsupported("rows beyond 2^31 elements");
  plan.pads = PadLanes(facts.y, layout, ByteSize(plan.affine.to.storage));
  return plan;
}

/// Halves may be widened row by row where rows are read once, and stay what they are where nothing
/// is blended.
void AddHalves(const ir::Graph& group, const Facts& facts, std::vector<StateAssignment>& states) {
  const DType half = group.value(group.inputs[0]).dtype;
  const Result<ResizePlan> plan = MakePlan(facts, Layout::RowMajor());
  if (!IsHalf(half) || !plan.ok()) return;
  const ResizeAxis& height = plan->height;
  const bool picks = std::all_of(facts.taps.begin(), facts.taps.end(), PicksElements);
  if (!picks && height.out * height.taps.taps > height.in) return;
  const State to{.storage = picks ? half : DType::kF32};
  states.push_back({{{.storage = half, .external = true}}, {to}});
  if (picks) states.push_back({{{.storage = half}}, {to}});
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Facts& facts,
                                            const Device&) {
  std::vector<Layout> layouts = BlockedLayouts(facts.y);
  layouts.insert(layouts.begin(), {Layout::ChannelsLast(facts.y.rank()), Layout::RowMajor()});
  std::vector<StateAssignment> states;
  Status refused;
  for (const Layout& layout : layouts) {
    const Status planned = MakePlan(facts, layout).status();
    if (!planned.ok()) {
      refused = planned;
      continue;
    }
    StateAssignment next{{{.layout = layout, .storage = facts.affine.from.storage}},
                         {{.layout = layout, .storage = facts.affine.to.storage}}};
    if (states.empty() || !(states[0] == next)) states.push_back(std::move(next));
  }
  if (states.empty()) return refused;
  AddHalves(group, facts, states);
  return states;
}

Result<ResizePlan> PlanIn(const Facts& facts, const Problem& problem) {
  ASSIGN_OR_RETURN(ResizePlan plan, MakePlan(facts, problem.states.inputs[0].layout));
  plan.from = problem.states.inputs[0].storage;
  plan.to = problem.states.outputs[0].storage;
  plan.repeats = facts.repeats;
  plan.resize = facts.resize;
  return plan;
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Facts& facts,
                                                const Params&, const Device&) {
  ASSIGN_OR_RETURN(ResizePlan plan, PlanIn(facts, problem));
  return std::unique_ptr<PreparedKernel>(new Resize(std::move(plan), problem.threads));
}

constexpr Family<Facts> kFamily{.read = Read,
                                .states = States,
                                .prepare = Prepare,
                                .taste = Always<10>,
                                .reads_callers_memory = true,
                                .takes_near_extents = true};

}  // namespace

extern const KernelDesc kCpuResizeSeparable;
const KernelDesc kCpuResizeSeparable = {.name = "cpu.resize.separable", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
