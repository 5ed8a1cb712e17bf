#include "tuner/measure/expectation.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "ir/noise.h"
#include "kernels/check/tolerance.h"
#include "ops/element_access.h"
#include "tensor/reorder.h"
#include "tuner/measure/oracle_cost.h"

namespace fettle::tuner {

struct Filling {
  std::string_view name;
  /// Multiplies floats in [-1, 1]; the second is for types of few exponents.
  double amplitude = 1, small_type_amplitude = 1;
  /// Of bytes, as shares of their range.
  double byte_low = 0, byte_high = 1;
  /// The sign (of bytes: the end of the range) changes along every axis.
  bool alternating = false;
};

namespace {

bool IsByte(DType dtype) { return dtype == DType::kU8 || dtype == DType::kI8; }

constexpr Filling kFillings[] = {
    {.name = "noise"},
    {.name = "large", .amplitude = 0x1p10, .small_type_amplitude = 0x1p3, .alternating = true},
    {.name = "tiny", .amplitude = 0x1p-20, .small_type_amplitude = 0x1p-8, .byte_high = 0},
};

/// Extreme inputs are left out where they take so many times the steps of a whole output.
constexpr double kExtremeSteps = 10;

double Amplitude(const Filling& filling, DType dtype) {
  const bool wide = dtype == DType::kF32 || dtype == DType::kF64 || dtype == DType::kBF16;
  return wide ? filling.amplitude : filling.small_type_amplitude;
}

/// Elements become `even` or `odd`, by the sum of their coordinates: bytes exactly, floats less up
/// to a part of the noise that is there.
void Alternate(Tensor& tensor, double even, double odd) {
  const bool varies = IsFloat(tensor.dtype());
  const Shape& shape = tensor.shape();
  Dims outer = shape.dims();
  const int64_t width = outer.empty() ? 1 : outer.back();
  if (!outer.empty()) outer.pop_back();
  DispatchDType(tensor.dtype(), [&]<typename T>() {
    T* row = tensor.as<T>().data();
    const Shape rows(outer);
    ops::ForEachCoordinate(
        rows, {0, rows.elements()}, [&](int64_t, std::span<const int64_t> coordinate) {
          bool is_odd = std::accumulate(coordinate.begin(), coordinate.end(), int64_t{0}) % 2 != 0;
          for (T* const end = row + width; row < end; ++row, is_odd = !is_odd) {
            const double limit = is_odd ? odd : even;
            const double noise = varies ? std::fabs(static_cast<double>(Widen(*row))) / 16 : 0;
            *row = Narrow<T>(varies ? std::copysign(std::fabs(limit) - noise, limit) : limit);
          }
        });
  });
}

/// Noise that repeats itself in large tensors, after a number of elements that is a multiple of no
/// extent.
Result<Tensor> RepeatingNoise(DType dtype, const Shape& shape, uint64_t seed,
                              const ir::NoiseRange& range) {
  constexpr int64_t kPeriod = (1 << 19) - 1;  // prime
  if (shape.elements() <= kPeriod) return ir::NoiseTensor(dtype, shape, seed, range);
  ASSIGN_OR_RETURN(const Tensor period, ir::NoiseTensor(dtype, Shape{kPeriod}, seed, range));
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(dtype, shape));
  const std::span<std::byte> to = tensor.bytes();
  const std::span<const std::byte> from = period.bytes();
  for (size_t begin = 0; begin < to.size(); begin += from.size())
    std::memcpy(to.data() + begin, from.data(), std::min(from.size(), to.size() - begin));
  return tensor;
}

/// Whether rows of bytes in `id` end with a float by which all of the row counts
/// (ops/attention/byte_rows.h).
bool HoldsByteRows(const ir::Graph& group, ir::ValueId id) {
  return group.value(id).dtype == DType::kI8 &&
         std::ranges::any_of(group.nodes(), [id](const ir::Node& node) {
           return node.op == "GroupQueryAttention"_op &&
                  (node.input(3) == id || node.input(4) == id);
         });
}

/// Four such bytes are a float from 1e-8 to 0.2. Of any bytes it may be as large as floats get, or
/// none: what is right would hang on the order of sums.
constexpr ir::NoiseRange kBytesOfSteps{50, 62};

Result<Tensor> Fill(const Filling& filling, const ir::Graph& group, ir::ValueId id, uint64_t seed,
                    bool zeros) {
  const ir::Value& value = group.value(id);
  const DType dtype = value.dtype;
  if (HoldsByteRows(group, id)) return RepeatingNoise(dtype, *value.shape, seed, kBytesOfSteps);
  ir::NoiseRange range{0, zeros ? 0.0 : 1.0};
  if (IsFloat(dtype)) {
    const double amplitude = Amplitude(filling, dtype);
    range = {-amplitude, amplitude};
  }
  const double lowest = dtype == DType::kI8 ? -128 : 0;
  if (IsByte(dtype)) {
    range = {lowest + std::round(255 * filling.byte_low),
             lowest + std::round(255 * filling.byte_high)};
  }
  ASSIGN_OR_RETURN(Tensor tensor, RepeatingNoise(dtype, *value.shape, seed, range));
  if (filling.alternating && IsFloat(dtype)) Alternate(tensor, range.high, range.low);
  if (filling.alternating && IsByte(dtype)) Alternate(tensor, lowest + 255, lowest);
  return tensor;
}

Result<std::vector<Tensor>> FillAll(const Filling& filling, const ir::Graph& group, uint64_t seed,
                                    bool zeros) {
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < group.inputs.size(); ++i) {
    ASSIGN_OR_RETURN(Tensor tensor, Fill(filling, group, group.inputs[i], seed + 1000 * i, zeros));
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

/// Of the floats among the inputs; 1 where there are none.
double LargestAmplitude(const Filling& filling, const ir::Graph& group) {
  double largest = 0;
  for (ir::ValueId id : group.inputs) {
    const DType dtype = group.value(id).dtype;
    if (IsFloat(dtype)) largest = std::max(largest, Amplitude(filling, dtype));
  }
  return largest > 0 ? largest : 1;
}

bool HasExtremes(const ir::Graph& group) {
  return std::any_of(group.inputs.begin(), group.inputs.end(), [&](ir::ValueId id) {
    const DType dtype = group.value(id).dtype;
    return IsFloat(dtype) || IsByte(dtype);
  });
}

double LargestOf(std::span<const double> values) {
  double largest = 0;
  for (double value : values) {
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
  }
  return largest;
}

/// Whether a bounded function stands behind a sum, so that outputs do not show how large its terms
/// are.
bool HidesItsSums(const ir::Graph& group) {
  return group.nodes().size() > 1 &&
         std::any_of(group.nodes().begin(), group.nodes().end(),
                     [&](const ir::Node& node) { return node.op->Has(ir::Trait::kBounded); });
}

/// The root mean square of the group's float constants that are not vectors; 0 where there are
/// none.
double RootMeanSquareOfWeights(const ir::Graph& group) {
  constexpr int64_t kEnough = 4096;
  double squares = 0, count = 0;
  for (const ir::Value& value : group.values()) {
    const Constant* constant = value.constant.get();
    if (constant == nullptr || !IsFloat(value.dtype) || value.shape->rank() < 2) continue;
    const int64_t step = std::max<int64_t>(constant->elements() / kEnough, 1);
    for (int64_t i = 0; i < constant->elements(); i += step) {
      const double weight = constant->GetDouble(i);
      if (!std::isfinite(weight)) continue;
      squares += weight * weight;
      ++count;
    }
  }
  return count > 0 ? std::sqrt(squares / count) : 0;
}

/// How to take samples of a group's outputs.
struct SamplePlan {
  int64_t run = 1;  // elements one behind the other
  int64_t most_runs = std::numeric_limits<int64_t>::max();
};

/// Where elements of a long row share sums, a few runs of them; single ones otherwise.
SamplePlan PlanSamples(const ir::Graph& group, double steps) {
  constexpr double kLongRow = 64;
  constexpr int64_t kRun = 64, kLeastRuns = 4;
  double region = 0;
  for (const ir::Node& node : group.nodes())
    region = std::max(region, CostOfReference(group, node).region);
  if (region < kLongRow) return {};
  return {kRun, std::max(kLeastRuns, static_cast<int64_t>(steps / region))};
}

std::vector<double> ValuesAt(const Tensor& tensor, const Elements& elements) {
  std::vector<double> values;
  values.reserve(CountElements(elements));
  DispatchDType(tensor.dtype(), [&]<typename T>() {
    const auto all = tensor.as<T>();
    for (const ops::Region& range : elements) {
      for (int64_t i = range.begin; i < range.end; ++i)
        values.push_back(static_cast<double>(Widen(all[i])));
    }
  });
  return values;
}

}  // namespace

Status GroupExpectations::AddSet(const Filling& filling, std::vector<Tensor> inputs,
                                 std::span<const Elements> elements, const Oracle& oracle) {
  ASSIGN_OR_RETURN(const std::vector<Tensor> outputs, oracle.Run(inputs, elements));
  const double amplitude = LargestAmplitude(filling, *group_);
  // Where all outputs are one sum, as with weights that are all alike, no output may show it.
  const double weight = HidesItsSums(*group_) ? 1 : RootMeanSquareOfWeights(*group_);
  const double root = std::sqrt(static_cast<double>(kernels::LongestSum(*group_)));
  Expectation set{filling.name, std::move(inputs), {}};
  for (size_t o = 0; o < outputs.size(); ++o) {
    ExpectedOutput expected{elements[o], ValuesAt(outputs[o], elements[o])};
    expected.largest = LargestOf(expected.values);
    // Sums of alternating terms may cancel; what they are made of grows with the inputs.
    const double sum = sets_.empty() ? 0 : sets_[0].outputs[o].largest * amplitude;
    const kernels::SumTerms terms{
        .magnitude = std::max(weight * amplitude, filling.alternating ? sum / root : 0),
        .alternate = filling.alternating};
    const double largest = std::max(expected.largest, sum);
    expected.tolerance = kernels::GroupTolerance(*group_, group_->outputs[o], largest, terms);
    expected.sums = kernels::SumMagnitude(*group_, largest, terms);
    bytes_ += static_cast<int64_t>(expected.values.size() * sizeof(double));
    set.outputs.push_back(std::move(expected));
  }
  for (const Tensor& input : set.inputs) bytes_ += static_cast<int64_t>(input.bytes().size());
  sets_.push_back(std::move(set));
  return OkStatus();
}

Status GroupExpectations::AddSets(const ExpectationOptions& options, ThreadPool& pool) {
  ASSIGN_OR_RETURN(const Oracle oracle, Oracle::Make(group_, pool));
  const auto most_steps = static_cast<double>(options.whole_macs);
  const SamplePlan plan = PlanSamples(*group_, most_steps);
  const auto sample = [&](int64_t count) {
    std::vector<Elements> samples;
    for (ir::ValueId id : group_->outputs)
      samples.push_back(SampleElements(*group_->value(id).shape,
                                       std::min(count, plan.most_runs * plan.run), options.seed,
                                       plan.run));
    return samples;
  };
  std::vector<Elements> elements;
  for (ir::ValueId id : group_->outputs) elements.push_back(AllElements(*group_->value(id).shape));
  if (oracle.StepsFor(elements) > most_steps) elements = sample(options.samples);
  const std::vector<Elements> extreme_elements = sample(options.extreme_samples);
  const auto add = [&](const Filling& filling, bool zeros) -> Status {
    const bool first = sets_.empty();
    ASSIGN_OR_RETURN(std::vector<Tensor> inputs, FillAll(filling, *group_, options.seed, zeros));
    return AddSet(filling, std::move(inputs), first ? elements : extreme_elements, oracle);
  };
  // An index of 1 is out of range where an axis has one element.
  const bool zeros = !add(kFillings[0], false).ok();
  if (zeros) RETURN_IF_ERROR(add(kFillings[0], true));
  // What has to be computed whole may be too much to be computed more than once.
  if (!HasExtremes(*group_) || oracle.StepsFor(extreme_elements) > kExtremeSteps * most_steps)
    return OkStatus();
  for (const Filling& filling : std::span(kFillings).subspan(1))
    RETURN_IF_ERROR(add(filling, zeros));
  return OkStatus();
}

Result<std::unique_ptr<GroupExpectations>> GroupExpectations::Make(
    std::shared_ptr<const ir::Graph> group, const ExpectationOptions& options, ThreadPool& pool) {
  RETURN_IF_ERROR(CheckInputs(*group));
  std::unique_ptr<GroupExpectations> made(new GroupExpectations());
  made->group_ = std::move(group);
  made->oracle_ = made->AddSets(options, pool);
  if (made->oracle_.ok()) return made;
  ASSIGN_OR_RETURN(std::vector<Tensor> inputs,
                   FillAll(kFillings[0], *made->group_, options.seed, /*zeros=*/true));
  made->sets_.assign(1, {kFillings[0].name, std::move(inputs), {}});
  return made;
}

std::span<const std::byte> GroupExpectations::InState(size_t set, size_t input,
                                                      const State& state) {
  const Tensor& tensor = sets_[set].inputs[input];
  const std::string key =
      fmt::format("{} {} {}", set, input, StateName(state, tensor.shape().rank()));
  const auto [it, is_new] = in_state_.try_emplace(key);
  if (is_new) {
    it->second.resize(StateBytes(tensor.shape(), state));
    Reorder(tensor.shape(), {.storage = tensor.dtype()}, tensor.data(), state, it->second.data());
    bytes_ += static_cast<int64_t>(it->second.size());
  }
  return it->second;
}

}  // namespace fettle::tuner
