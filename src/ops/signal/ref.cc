// Scalar oracles of spectra, in double.
#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

#include "ops/element_access.h"
#include "ops/op.h"
#include "ops/signal/op.h"
#include "ops/signal/transform.h"

namespace fettle::ops {
namespace {

using Complex = std::complex<double>;

/// Element `offset` of a signal whose imaginary parts lie `imaginary` elements behind (0: real).
Complex At(const HostView& x, int64_t offset, int64_t imaginary) {
  return {x.GetDouble(offset), imaginary == 0 ? 0.0 : x.GetDouble(offset + imaginary)};
}

std::optional<int64_t> Scalar(const RefContext& context, size_t i) {
  if (!context.has_input(i)) return std::nullopt;
  return context.inputs[i].GetInt(0);
}

/// The three generalised cosine windows: a0 - a1 cos(t) + a2 cos(2t).
struct Cosines {
  double a0, a1, a2;
};
Cosines CosinesOf(ir::OpRef op) {
  if (op == "HannWindow"_op) return {0.5, 0.5, 0};
  if (op == "HammingWindow"_op) return {25.0 / 46, 21.0 / 46, 0};
  return {0.42, 0.5, 0.08};
}

}  // namespace

Status DftReference(const RefContext& context, const Region&) {
  const HostView &x = context.inputs[0], &y = context.outputs[0];
  ASSIGN_OR_RETURN(const DftAttributes dft,
                   ReadDft(context.node, x.shape, Scalar(context, 1), Scalar(context, 2)));
  const size_t axis = dft.axis, last = x.strides.size() - 1;
  const int64_t imaginary = x.shape[x.shape.rank() - 1] == 2 ? x.strides.back() : 0;
  const bool mirrored = dft.onesided && dft.inverse;
  const int64_t samples = std::min(mirrored ? dft.length / 2 + 1 : dft.length, x.shape[dft.axis]);
  Shape rows = y.shape;
  rows[dft.axis] = rows[y.shape.rank() - 1] = 1;
  const auto transform_row = [&](int64_t, std::span<const int64_t> row) {
    const int64_t base = x.Offset(row);
    std::vector<Complex> signal(dft.length);
    for (int64_t k = 0; k < samples; ++k) {
      // A bin that is not its own mirror image counts twice; imaginary parts cancel.
      const double weight = mirrored && k > 0 && 2 * k != dft.length ? 2.0 : 1.0;
      signal[k] = weight * At(x, base + k * x.strides[axis], imaginary);
    }
    const std::vector<Complex> spectrum = Transform(signal, dft.inverse ? 1 : -1);
    const double scale = dft.inverse ? 1.0 / static_cast<double>(dft.length) : 1.0;
    for (int64_t k = 0; k < dft.bins; ++k) {
      const int64_t to = y.Offset(row) + k * y.strides[axis];
      y.SetDouble(to, spectrum[k].real() * scale);
      if (!mirrored) y.SetDouble(to + y.strides[last], spectrum[k].imag() * scale);
    }
  };
  ForEachCoordinate(rows, {0, rows.elements()}, transform_row);
  return OkStatus();
}

Status StftReference(const RefContext& context, const Region&) {
  const HostView &x = context.inputs[0], &y = context.outputs[0];
  const HostView* window = context.has_input(2) ? &context.inputs[2] : nullptr;
  ASSIGN_OR_RETURN(const StftAttributes stft,
                   ReadStft(context.node, x.shape, Scalar(context, 1).value_or(0),
                            Scalar(context, 3), window == nullptr ? nullptr : &window->shape));
  const int64_t imaginary = stft.complex ? x.strides[2] : 0;
  std::vector<Complex> signal(stft.length);
  for (int64_t i = 0; i < x.shape[0] * stft.frames; ++i) {
    const int64_t batch = i / stft.frames, frame = i % stft.frames;
    const int64_t base = batch * x.strides[0] + frame * stft.step * x.strides[1];
    for (int64_t k = 0; k < stft.length; ++k) {
      const double weight = window == nullptr ? 1.0 : window->GetDouble(k * window->strides[0]);
      signal[k] = weight * At(x, base + k * x.strides[1], imaginary);
    }
    const std::vector<Complex> spectrum = Transform(signal, -1);
    for (int64_t k = 0; k < stft.bins; ++k) {
      const int64_t to = batch * y.strides[0] + frame * y.strides[1] + k * y.strides[2];
      y.SetDouble(to, spectrum[k].real());
      y.SetDouble(to + y.strides[3], spectrum[k].imag());
    }
  }
  return OkStatus();
}

Status WindowReference(const RefContext& context, const Region& region) {
  const HostView& y = context.outputs[0];
  const Cosines cosines = CosinesOf(context.node.op);
  const bool periodic = context.attributes().Int("periodic", 1) != 0;
  const auto n = static_cast<double>(periodic ? y.shape[0] : y.shape[0] - 1);
  for (int64_t i = region.begin; i < region.end; ++i) {
    // A symmetric window of one value has no period: it is its middle.
    const double t = n > 0 ? 2 * std::numbers::pi * static_cast<double>(i) / n : std::numbers::pi;
    y.SetDouble(i * y.strides[0],
                cosines.a0 - cosines.a1 * std::cos(t) + cosines.a2 * std::cos(2 * t));
  }
  return OkStatus();
}

Status MelWeightMatrixReference(const RefContext& context, const Region&) {
  const HostView& y = context.outputs[0];
  const int64_t bins = y.shape[1], spectrum = y.shape[0];
  const double length = context.inputs[1].GetDouble(0), rate = context.inputs[2].GetDouble(0);
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double low = mel(context.inputs[3].GetDouble(0));
  const double high = mel(context.inputs[4].GetDouble(0));
  std::vector<int64_t> edges;
  for (int64_t i = 0; i < bins + 2; ++i) {
    const double at = low + static_cast<double>(i) * (high - low) / static_cast<double>(bins + 2);
    const double hertz = 700 * (std::pow(10, at / 2595) - 1);
    const double edge = std::floor((length + 1) * hertz / rate);
    if (!(edge >= 0 && edge < static_cast<double>(spectrum)))
      return InvalidArgument("the frequencies lie outside of the spectrum of {} bins", spectrum);
    edges.push_back(static_cast<int64_t>(edge));
  }
  ForEachCoordinate(y.shape, {0, y.shape.elements()}, [&](int64_t, std::span<const int64_t> out) {
    const size_t band = out[1];
    const int64_t lower = edges[band], center = edges[band + 1], upper = edges[band + 2];
    const int64_t bin = out[0];
    double weight = 0;
    if (bin >= lower && bin <= center)
      weight = center == lower ? 1.0 : double(bin - lower) / double(center - lower);
    if (bin >= center && bin < upper) weight = double(upper - bin) / double(upper - center);
    y.SetDouble(y.Offset(out), weight);
  });
  return OkStatus();
}

}  // namespace fettle::ops
