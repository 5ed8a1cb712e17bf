#include "quantise/samples.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fettle::quantise {
namespace {

using runtime::TensorMap;

/// Calls `use(sample, outputs)` after each inference.
template <typename F>
Status ForEachSample(const std::shared_ptr<const runtime::Model>& model,
                     const std::vector<std::string>& extra, size_t count, const Runs& runs,
                     std::string_view stage, F&& use) {
  runtime::SessionOptions options = runs.session;
  options.extra_outputs = extra;
  ASSIGN_OR_RETURN(const auto session, runtime::Session::Create(model, options));
  for (size_t i = 0; i < count; ++i) {
    if (runs.session.cancelled != nullptr && *runs.session.cancelled)
      return Error(StatusCode::kCancelled, "interrupted");
    if (runs.report) runs.report(stage, static_cast<double>(i) / static_cast<double>(count));
    TensorMap outputs;
    RETURN_IF_ERROR(session->Run(runs.samples[i], &outputs));
    use(i, outputs);
  }
  return OkStatus();
}

/// The axis of scores in a tensor that has one beside the batch; below 0 elsewhere.
int ScoreAxis(const Shape& shape) {
  int axis = -1;
  for (int i = shape.rank() > 1 ? 1 : 0; i < shape.rank(); ++i) {
    if (shape[i] == 1) continue;
    if (axis >= 0) return -1;
    axis = i;
  }
  return axis;
}

/// The position of the largest score of each row of the batch.
std::vector<int64_t> LargestScores(const Tensor& tensor) {
  const int axis = ScoreAxis(tensor.shape());
  std::vector<int64_t> largest;
  if (axis < 0 || tensor.elements() == 0) return largest;
  const int64_t length = tensor.shape()[axis];
  const HostView view = tensor.view();
  for (int64_t row = 0; row < tensor.elements(); row += length) {
    int64_t best = 0;
    for (int64_t i = 1; i < length; ++i)
      if (view.GetDouble(row + i) > view.GetDouble(row + best)) best = i;
    largest.push_back(best);
  }
  return largest;
}

class LossMeter {
 public:
  explicit LossMeter(std::vector<std::string> outputs)
      : outputs_(std::move(outputs)), sums_(outputs_.size()) {}

  void Add(const TensorMap& got, const TensorMap& want) {
    for (size_t i = 0; i < outputs_.size(); ++i)
      AddOutput(got.at(outputs_[i]), want.at(outputs_[i]), sums_[i]);
    const auto a = LargestScores(got.at(outputs_[0])), b = LargestScores(want.at(outputs_[0]));
    for (size_t row = 0; row < std::min(a.size(), b.size()); ++row) same_ += a[row] == b[row];
    rows_ += std::ssize(b);
  }

  Loss Finish() const {
    Loss loss{.sqnr_db = std::numeric_limits<double>::infinity(), .max_abs = max_abs_};
    for (const Sums& sums : sums_) {
      if (sums.noise > 0)
        loss.sqnr_db = std::min(loss.sqnr_db, 10 * std::log10(sums.signal / sums.noise));
    }
    if (rows_ > 0) loss.top1 = static_cast<double>(same_) / static_cast<double>(rows_);
    return loss;
  }

 private:
  struct Sums {
    double signal = 0, noise = 0;
  };

  void AddOutput(const Tensor& got, const Tensor& want, Sums& sums) {
    if (got.shape() != want.shape()) {
      sums.noise = std::numeric_limits<double>::infinity();
      return;
    }
    const HostView a = got.view(), b = want.view();
    for (int64_t i = 0; i < want.elements(); ++i) {
      const double x = a.GetDouble(i), y = b.GetDouble(i);
      if (!std::isfinite(y)) continue;
      const double off = std::isfinite(x) ? x - y : std::numeric_limits<double>::infinity();
      sums.signal += y * y;
      sums.noise += off * off;
      max_abs_ = std::max(max_abs_, std::abs(off));
    }
  }

  std::vector<std::string> outputs_;
  std::vector<Sums> sums_;
  double max_abs_ = 0;
  int64_t same_ = 0, rows_ = 0;
};

}  // namespace

Result<Observed> Observe(const std::shared_ptr<const runtime::Model>& model,
                         const std::vector<std::string>& values, const Runs& runs) {
  Observed observed;
  observed.outputs.resize(runs.samples.size());
  std::vector<std::string> names;
  for (ir::ValueId id : model->graph().outputs) names.push_back(model->graph().value(id).name);
  const auto input_or_output = [&](const TensorMap& inputs, const TensorMap& outputs,
                                   const std::string& name) -> const Tensor* {
    const auto input = inputs.find(name);
    if (input != inputs.end()) return &input->second;
    const auto output = outputs.find(name);
    return output == outputs.end() ? nullptr : &output->second;
  };
  std::vector<std::string> extra;
  for (const std::string& name : values)
    if (!runs.samples[0].contains(name)) extra.push_back(name);
  const auto each = [&](std::string_view stage, auto&& use) {
    return ForEachSample(model, extra, runs.samples.size(), runs, stage,
                         [&](size_t i, const TensorMap& outputs) {
                           for (const std::string& name : names)
                             observed.outputs[i].insert_or_assign(name, outputs.at(name));
                           for (const std::string& name : values) {
                             const Tensor* tensor = input_or_output(runs.samples[i], outputs, name);
                             if (tensor != nullptr && tensor->dtype() == DType::kF32)
                               use(name, *tensor);
                           }
                         });
  };
  RETURN_IF_ERROR(each("ranges", [&](const std::string& name, const Tensor& tensor) {
    observed.values[name].Observe(tensor);
  }));
  std::erase_if(observed.values, [](const auto& value) { return value.second.nonfinite > 0; });
  for (auto& [name, value] : observed.values) value.histogram = Histogram(value.range());
  RETURN_IF_ERROR(each("histograms", [&](const std::string& name, const Tensor& tensor) {
    const auto found = observed.values.find(name);
    if (found != observed.values.end()) found->second.Count(tensor);
  }));
  return observed;
}

Result<Loss> LossOf(const std::shared_ptr<const runtime::Model>& model,
                    const std::vector<TensorMap>& wanted, size_t count, const Runs& runs,
                    std::string_view stage) {
  std::vector<std::string> names;
  for (ir::ValueId id : model->graph().outputs) names.push_back(model->graph().value(id).name);
  LossMeter meter(names);
  RETURN_IF_ERROR(
      ForEachSample(model, {}, count, runs, stage,
                    [&](size_t i, const TensorMap& outputs) { meter.Add(outputs, wanted[i]); }));
  return meter.Finish();
}

}  // namespace fettle::quantise
