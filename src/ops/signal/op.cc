#include "ops/signal/op.h"

#include "ops/host_ints.h"
#include "ops/infer.h"
#include "ops/op.h"

namespace fettle::ops {
namespace {

constexpr int64_t kMaxLength = int64_t{1} << 24;

/// Reads the scalar at input `i` where present; false where its value is needed first.
Result<bool> ReadOptional(InferContext& context, int i, std::string_view name,
                          std::optional<int64_t>& value) {
  if (!context.has_input(i)) return true;
  int64_t read = 0;
  ASSIGN_OR_RETURN(const bool known, ReadHostInt(context, i, name, read));
  if (known) value = read;
  return known;
}

Result<DType> WindowType(const InferContext& context) {
  const std::string name = context.attributes().Text("to", "f32");
  const auto dtype = DTypeFromName(name);
  if (!dtype || !IsStored(*dtype))
    return InvalidModel("attribute 'to': '{}' is not a numeric type", name);
  return *dtype;
}

Status InferDft(InferContext& context) {
  RETURN_IF_ERROR(CheckType(context, 0, kFloatTypes));
  std::optional<int64_t> length, axis;
  ASSIGN_OR_RETURN(const bool has_length, ReadOptional(context, 1, "dft_length", length));
  if (!has_length) return OkStatus();
  ASSIGN_OR_RETURN(const bool has_axis, ReadOptional(context, 2, "axis", axis));
  if (!has_axis) return OkStatus();
  Shape out = context.shape(0);
  ASSIGN_OR_RETURN(const DftAttributes dft, ReadDft(context.node(), out, length, axis));
  out[dft.axis] = dft.bins;
  out[out.rank() - 1] = dft.onesided && dft.inverse ? 1 : 2;
  context.SetOutput(0, context.dtype(0), out);
  return OkStatus();
}

Status InferStft(InferContext& context) {
  RETURN_IF_ERROR(CheckType(context, 0, kFloatTypes));
  RETURN_IF_ERROR(CheckType(context, 2, kFloatTypes));
  std::optional<int64_t> step, length;
  ASSIGN_OR_RETURN(const bool has_step, ReadOptional(context, 1, "frame_step", step));
  if (!has_step) return OkStatus();
  ASSIGN_OR_RETURN(const bool has_length, ReadOptional(context, 3, "frame_length", length));
  if (!has_length) return OkStatus();
  const Shape* window = context.has_input(2) ? &context.shape(2) : nullptr;
  ASSIGN_OR_RETURN(const StftAttributes stft,
                   ReadStft(context.node(), context.shape(0), step.value_or(0), length, window));
  context.SetOutput(0, context.dtype(0), Shape{context.shape(0)[0], stft.frames, stft.bins, 2});
  return OkStatus();
}

Status InferWindow(InferContext& context) {
  int64_t size = 0;
  ASSIGN_OR_RETURN(const bool known, ReadHostInt(context, 0, "size", size));
  if (!known) return OkStatus();
  if (size < 0 || size > kMaxLength) return InvalidModel("size: {} is out of range", size);
  ASSIGN_OR_RETURN(const DType dtype, WindowType(context));
  context.SetOutput(0, dtype, Shape{size});
  return OkStatus();
}

Status InferMelWeightMatrix(InferContext& context) {
  int64_t bins = 0, length = 0, rate = 0;
  ASSIGN_OR_RETURN(const bool has_bins, ReadHostInt(context, 0, "num_mel_bins", bins));
  if (!has_bins) return OkStatus();
  ASSIGN_OR_RETURN(const bool has_length, ReadHostInt(context, 1, "dft_length", length));
  if (!has_length) return OkStatus();
  ASSIGN_OR_RETURN(const bool has_rate, ReadHostInt(context, 2, "sample_rate", rate));
  if (!has_rate) return OkStatus();
  if (bins < 1 || bins > kMaxLength || length < 1 || length > kMaxLength || rate < 1)
    return InvalidModel("{} bins of a transform of {} at {} Hz", bins, length, rate);
  for (int i : {3, 4}) {
    if (context.shape(i).elements() != 1) return InvalidModel("expected scalar edges");
  }
  ASSIGN_OR_RETURN(const DType dtype, WindowType(context));
  context.SetOutput(0, dtype, Shape{length / 2 + 1, bins});
  return OkStatus();
}

}  // namespace

Result<DftAttributes> ReadDft(const ir::Node& node, const Shape& x, std::optional<int64_t> length,
                              std::optional<int64_t> axis) {
  if (x.rank() < 2 || (x[x.rank() - 1] != 1 && x[x.rank() - 1] != 2))
    return InvalidModel("expected an input [..., 1 or 2], got {}", x.ToString());
  DftAttributes dft;
  const auto normal = NormaliseAxis(axis.value_or(-2), x.rank());
  if (!normal || *normal == x.rank() - 1)
    return InvalidModel("axis {} is out of range for {}", axis.value_or(-2), x.ToString());
  dft.axis = *normal;
  dft.inverse = node.attributes.Int("inverse", 0) != 0;
  dft.onesided = node.attributes.Int("onesided", 0) != 0;
  const bool real_output = dft.onesided && dft.inverse;
  dft.length = length.value_or(real_output ? 2 * (x[dft.axis] - 1) : x[dft.axis]);
  if (dft.length < 1 || dft.length > kMaxLength)
    return InvalidModel("dft_length: {} is out of range", dft.length);
  if (dft.onesided && (x[x.rank() - 1] == 2) != dft.inverse) {
    return InvalidModel("a one-sided transform needs a {} input, got {}",
                        dft.inverse ? "complex" : "real", x.ToString());
  }
  dft.bins = dft.onesided && !dft.inverse ? dft.length / 2 + 1 : dft.length;
  return dft;
}

Result<StftAttributes> ReadStft(const ir::Node& node, const Shape& signal, int64_t step,
                                std::optional<int64_t> length, const Shape* window) {
  if ((signal.rank() != 2 && signal.rank() != 3) ||
      (signal.rank() == 3 && signal[2] != 1 && signal[2] != 2)) {
    return InvalidModel("expected a signal [batch, samples, 1 or 2], got {}", signal.ToString());
  }
  if (window != nullptr && window->rank() != 1)
    return InvalidModel("window: expected a vector, got {}", window->ToString());
  if (!length && window == nullptr) return InvalidModel("expected a window or a frame_length");
  StftAttributes stft;
  stft.complex = signal.rank() == 3 && signal[2] == 2;
  stft.step = step;
  stft.length = length ? *length : (*window)[0];
  if (step < 1 || stft.length < 1 || stft.length > signal[1]) {
    return InvalidModel("frames of {} samples every {} do not fit the signal {}", stft.length, step,
                        signal.ToString());
  }
  if (window != nullptr && (*window)[0] != stft.length)
    return InvalidModel("window has {} values, expected {}", (*window)[0], stft.length);
  const bool onesided = node.attributes.Int("onesided", 1) != 0;
  if (onesided && stft.complex)
    return InvalidModel("a one-sided transform needs a real signal, got {}", signal.ToString());
  stft.frames = (signal[1] - stft.length) / step + 1;
  stft.bins = onesided ? stft.length / 2 + 1 : stft.length;
  return stft;
}

Status DftReference(const RefContext& context, const Region& region);
Status StftReference(const RefContext& context, const Region& region);
Status WindowReference(const RefContext& context, const Region& region);
Status MelWeightMatrixReference(const RefContext& context, const Region& region);
std::span<const ImportRule> DftImports();
std::span<const ImportRule> StftImports();
std::span<const ImportRule> MelWeightMatrixImports();
std::span<const ImportRule> BlackmanWindowImports();
std::span<const ImportRule> HammingWindowImports();
std::span<const ImportRule> HannWindowImports();

std::span<const Operator> SignalOps() {
  static const Operator kOps[] = {
      {{.name = "BlackmanWindow", .host_inputs = 1},
       {.infer = InferWindow, .reference = WindowReference, .imports = BlackmanWindowImports()}},
      {{.name = "DFT",
        .traits = {Trait::kWholeOutput},
        .max_inputs = 3,
        .host_inputs = 1u << 1 | 1u << 2},
       {.infer = InferDft, .reference = DftReference, .imports = DftImports()}},
      {{.name = "HammingWindow", .host_inputs = 1},
       {.infer = InferWindow, .reference = WindowReference, .imports = HammingWindowImports()}},
      {{.name = "HannWindow", .host_inputs = 1},
       {.infer = InferWindow, .reference = WindowReference, .imports = HannWindowImports()}},
      {{.name = "MelWeightMatrix",
        .traits = {Trait::kWholeOutput},
        .min_inputs = 5,
        .max_inputs = 5,
        .host_inputs = 0b111},
       {.infer = InferMelWeightMatrix,
        .reference = MelWeightMatrixReference,
        .imports = MelWeightMatrixImports()}},
      {{.name = "STFT",
        .traits = {Trait::kWholeOutput},
        .min_inputs = 2,
        .max_inputs = 4,
        .host_inputs = 1u << 1 | 1u << 3},
       {.infer = InferStft, .reference = StftReference, .imports = StftImports()}},
  };
  return kOps;
}

}  // namespace fettle::ops
