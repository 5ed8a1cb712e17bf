// Scalar oracles of the normalisations.
#include <cmath>

#include "ops/norm/op.h"
#include "ops/op.h"

namespace fettle::ops {
namespace {

struct Statistics {
  double mean = 0;
  double variance = 0;  // of the population
};

/// Two passes, so that a mean far from zero costs no digits.
Statistics Measure(const HostView& x, int64_t base, const std::vector<int64_t>& offsets) {
  Statistics s;
  for (int64_t offset : offsets) s.mean += x.GetDouble(base + offset);
  s.mean /= static_cast<double>(offsets.size());
  for (int64_t offset : offsets) {
    const double d = x.GetDouble(base + offset) - s.mean;
    s.variance += d * d;
  }
  s.variance /= static_cast<double>(offsets.size());
  return s;
}

/// The mean of squares as variance around zero.
Statistics MeasureSquares(const HostView& x, int64_t base, const std::vector<int64_t>& offsets) {
  Statistics s;
  for (int64_t offset : offsets) {
    const double value = x.GetDouble(base + offset);
    s.variance += value * value;
  }
  s.variance /= static_cast<double>(offsets.size());
  return s;
}

/// `view` seen through `shape`, which splits axis 1 in two where it has one axis more.
HostView Split(const HostView& view, const Shape& shape) {
  HostView split = view;
  split.shape = shape;
  if (shape.rank() > view.shape.rank())
    split.strides.insert(split.strides.begin() + 1, view.strides[1] * shape[2]);
  return split;
}

/// Strides over `shape` of a scale or bias: one value per channel for Group- and
/// InstanceNormalization, broadcast otherwise.
Dims ParameterStrides(const RefContext& context, size_t i, const NormGroups& groups) {
  const HostView& view = context.inputs[i];
  const bool grouped = context.node.op == "GroupNormalization"_op;
  if (!grouped && context.node.op != "InstanceNormalization"_op)
    return BroadcastStrides(view, groups.shape);
  Dims strides(groups.shape.rank(), 0);
  strides[1] = view.strides[0] * (grouped ? groups.shape[2] : 1);
  if (grouped) strides[2] = view.strides[0];
  return strides;
}

}  // namespace

Status BatchNormReference(const RefContext& context, const Region& region) {
  const HostView &x = context.inputs[0], &y = context.outputs[0];
  const double epsilon = context.attributes().Float("epsilon", 1e-5);
  const auto at = [&](size_t i, int64_t c) {
    return context.inputs[i].GetDouble(c * context.inputs[i].strides[0]);
  };
  Walker walk(y.shape, {x.strides, y.strides}, region.begin);
  for (int64_t i = region.begin; i < region.end; ++i, walk.Next()) {
    const int64_t c = walk.coordinate()[1];
    const double normal = (x.GetDouble(walk[0]) - at(3, c)) / std::sqrt(at(4, c) + epsilon);
    y.SetDouble(walk[1], normal * at(1, c) + at(2, c));
  }
  return OkStatus();
}

Status BatchNormTrainingReference(const RefContext& context, const Region&) {
  const HostView &x = context.inputs[0], &y = context.outputs[0];
  const double epsilon = context.attributes().Float("epsilon", 1e-5);
  const double momentum = context.attributes().Float("momentum", 0.9);
  AxisMask mask(x.shape.rank(), true);
  mask[1] = false;
  const std::vector<int64_t> offsets = RowOffsets(x, mask), outputs = RowOffsets(y, mask);
  for (int64_t c = 0; c < x.shape[1]; ++c) {
    const Statistics s = Measure(x, c * x.strides[1], offsets);
    const auto at = [&](size_t i) {
      return context.inputs[i].GetDouble(c * context.inputs[i].strides[0]);
    };
    const double factor = at(1) / std::sqrt(s.variance + epsilon);
    for (size_t k = 0; k < offsets.size(); ++k) {
      const double value = x.GetDouble(c * x.strides[1] + offsets[k]);
      y.SetDouble(c * y.strides[1] + outputs[k], (value - s.mean) * factor + at(2));
    }
    const auto store = [&](size_t i, double running, double current) {
      if (!context.has_output(i)) return;
      context.outputs[i].SetDouble(c * context.outputs[i].strides[0],
                                   running * momentum + current * (1 - momentum));
    };
    store(1, at(3), s.mean);
    store(2, at(4), s.variance);
  }
  return OkStatus();
}

/// Layer-, RMS-, Instance- and GroupNormalization. The region that holds the first element of a
/// group also writes the group's mean and inverse deviation, where they are asked for.
Status GroupedNormReference(const RefContext& context, const Region& region) {
  ASSIGN_OR_RETURN(const NormGroups groups, ReadNormGroups(context.node, context.inputs[0].shape));
  const HostView x = Split(context.inputs[0], groups.shape);
  const HostView y = Split(context.outputs[0], groups.shape);
  const double epsilon = context.attributes().Float("epsilon", 1e-5);
  const bool rms = context.node.op == "RMSNormalization"_op;
  const std::vector<int64_t> offsets = RowOffsets(x, groups.mask);
  std::vector<Dims> strides = {x.strides, RowStrides(x.strides, groups.mask), y.strides};
  // Operands from 3 on: scale, bias, mean, inverse deviation, with zeros for the absent ones.
  for (size_t i = 1; i < 3; ++i) {
    strides.push_back(context.has_input(i) ? ParameterStrides(context, i, groups)
                                           : Dims(groups.mask.size(), 0));
  }
  for (size_t i = 1; i < 3; ++i) {
    strides.push_back(context.has_output(i) ? BroadcastStrides(context.outputs[i], groups.shape)
                                            : Dims(groups.mask.size(), 0));
  }
  Walker walk(groups.shape, std::move(strides), region.begin);
  RowMemo<Statistics> rows;
  for (int64_t i = region.begin; i < region.end; ++i, walk.Next()) {
    const Statistics& s = rows.At(walk[1], [&] {
      return rms ? MeasureSquares(x, walk[1], offsets) : Measure(x, walk[1], offsets);
    });
    const double inverse = 1 / std::sqrt(s.variance + epsilon);
    double value = (x.GetDouble(walk[0]) - s.mean) * inverse;
    if (context.has_input(1)) value *= context.inputs[1].GetDouble(walk[3]);
    if (context.has_input(2)) value += context.inputs[2].GetDouble(walk[4]);
    y.SetDouble(walk[2], value);
    if (walk[0] != walk[1]) continue;
    if (context.has_output(1)) context.outputs[1].SetDouble(walk[5], s.mean);
    if (context.has_output(2)) context.outputs[2].SetDouble(walk[6], inverse);
  }
  return OkStatus();
}

/// A row of zeros stays zero.
Status LpNormReference(const RefContext& context, const Region& region) {
  const HostView &x = context.inputs[0], &y = context.outputs[0];
  ASSIGN_OR_RETURN(const NormGroups groups, ReadNormGroups(context.node, x.shape));
  const bool l1 = context.attributes().Int("p", 2) == 1;
  const std::vector<int64_t> offsets = RowOffsets(x, groups.mask);
  Walker walk(y.shape, {x.strides, RowStrides(x.strides, groups.mask), y.strides}, region.begin);
  RowMemo<double> norms;
  for (int64_t i = region.begin; i < region.end; ++i, walk.Next()) {
    const double norm = norms.At(walk[1], [&] {
      double sum = 0;
      for (int64_t offset : offsets) {
        const double value = x.GetDouble(walk[1] + offset);
        sum += l1 ? std::fabs(value) : value * value;
      }
      return l1 ? sum : std::sqrt(sum);
    });
    y.SetDouble(walk[2], norm == 0 ? 0 : x.GetDouble(walk[0]) / norm);
  }
  return OkStatus();
}

Status LrnReference(const RefContext& context, const Region& region) {
  const HostView &x = context.inputs[0], &y = context.outputs[0];
  ASSIGN_OR_RETURN(const LrnAttributes lrn, ReadLrn(context.node));
  Walker walk(y.shape, {x.strides, y.strides}, region.begin);
  for (int64_t i = region.begin; i < region.end; ++i, walk.Next()) {
    const int64_t c = walk.coordinate()[1];
    const int64_t first = std::max<int64_t>(0, c - (lrn.size - 1) / 2);
    const int64_t last = std::min(x.shape[1] - 1, c + lrn.size / 2);
    double squares = 0;
    for (int64_t k = first; k <= last; ++k) {
      const double value = x.GetDouble(walk[0] + (k - c) * x.strides[1]);
      squares += value * value;
    }
    const double base = lrn.bias + lrn.alpha / static_cast<double>(lrn.size) * squares;
    y.SetDouble(walk[1], x.GetDouble(walk[0]) / std::pow(base, lrn.beta));
  }
  return OkStatus();
}

}  // namespace fettle::ops
