// compiled: small
// When cpu.conv.planes.flat is taken before it was measured.
#include <algorithm>

#include "kernels/cpu/conv/flat_problem.h"
#include "kernels/cpu/depthwise/row.h"
#include "kernels/cpu/depthwise/runner.h"
#include "kernels/cpu/gemm/pack.h"

namespace fettle::kernels {
namespace {

/// Whether Winograd's kernels need far fewer multiply-adds.
bool SuitsWinograd(const PlaneProblem& conv) {
  const ConvGeometry& g = conv.g;
  return g.kernel[0] == 1 && g.kernel[1] == 3 && g.kernel[2] == 3 && g.stride[1] == 1 &&
         g.stride[2] == 1 && g.groups == 1 && std::min(g.ic, g.oc) >= 16;
}

/// Inputs of channels-last kernels that fill no vector, and those whose slices take long to copy.
constexpr int64_t kFewInputs = 4, kManyInputs = 64;
/// Taps of a plane that are few enough to be loaded anew for each output row, where channels-last
/// vectors are full, and where planes are read as they lie instead of converted; and elements of an
/// input that stay near while it is converted.
constexpr int64_t kFewTaps = 14, kFewUncopiedTaps = 20, kNearInput = 1 << 20;

/// Whether a channels-last layer computes rows from padded copies of lines.
bool Pads(const ConvGeometry& g) {
  const auto pixels = [](int64_t channels, const std::array<int64_t, 3>& extents) {
    return ChannelsLastPixels(channels, extents[0] * extents[1] * extents[2]);
  };
  return DepthwiseProblem{.g = g, .pixels = {pixels(g.ic, g.in), pixels(g.oc, g.out)}}.pads();
}

/// Whether a channels-last layer of several filters for each input repeats its inputs for each row.
bool RepeatsInputs(const ConvGeometry& g) { return g.oc != g.ic && !Pads(g); }

/// Whether a channels-last layer of images loads each pixel anew for each tap, because its width
/// has no windows in registers, and that from beyond the first-level cache. Only vectors of 16
/// channels, or near copies that very many taps meet, make up for it.
bool LoadsFarTaps(const ConvGeometry& g) {
  constexpr int64_t kFarLines = 128 << 10, kFewPixels = 256, kCopiedTaps = 100;
  const int64_t lines = g.kernel[1] * g.in[2] * g.ic * 4;
  return g.IsImage() && lines > kFarLines && g.out[1] * g.out[2] >= kFewPixels &&
         !HasDepthwiseRow(g.kernel[2], g.stride[2], g.dilation[2], true) &&
         (g.taps() < kCopiedTaps || g.kernel[2] == 1 || !Pads(g));
}

/// Whether a layer of volumes with one input to a group takes fewer cycles than a channels-last
/// one, which loads wide windows anew for each vector of channels.
bool SuitsVolume(const FlatProblem& flat, int64_t lanes) {
  constexpr double kWindowTap = 1.2, kLoadedTap = 6.5, kTap = 1.7;
  constexpr double kConverted = 1, kCopied = 0.7, kCopiedApart = 2.2, kRepeated = 3;
  const ConvGeometry& g = flat.conv.g;
  const auto number = [](int64_t n) { return static_cast<double>(n); };
  const double taps = number(g.taps() * g.out[0] * g.out[1] * g.out[2]);
  const double inputs = number(g.ic * g.in[0] * g.in[1] * g.in[2]);
  const double vectors = number(RoundUp(g.oc, lanes) / lanes);
  const double repeated =
      RepeatsInputs(g) ? number(g.out[0] * g.out[1] * g.kernel[0] * g.kernel[1] * g.in[2] * g.oc)
                       : 0;
  const double by_channels = taps * vectors * (g.kernel[2] > 3 ? kLoadedTap : kWindowTap) +
                             inputs * kConverted + repeated * kRepeated;
  const double copied =
      flat.reads_planes ? 0 : inputs * (flat.slices.size() > 1 ? kCopiedApart : kCopied);
  return taps * number(g.oc) / number(lanes) / flat.kept() * kTap + copied < by_channels;
}

}  // namespace

// As cpu.conv.planes; layers of more multiply-adds, too, where channels-last vectors are emptier.
int FlatTaste(const FlatProblem& flat) {
  const PlaneProblem& conv = flat.conv;
  const ConvGeometry& g = conv.g;
  const int64_t lanes = GetPlaneKernels().lanes, outputs = conv.outputs();
  if (lanes == 1 || !conv.suits_flat() || g.out[1] * flat.pitch < 2 * lanes) return 6;
  const bool has_one_input = conv.inputs() == 1 && g.groups > 1;
  const bool is_depthwise = has_one_input && outputs == 1;
  if (has_one_input && !g.IsImage()) {
    const bool suits = SuitsVolume(flat, lanes);
    if (suits || is_depthwise) return suits ? kBesideBest : 6;
  }
  // Each slice is copied by itself, short strided lines of it element by element.
  const bool has_many_slices = flat.slices.size() > 4;
  if (has_many_slices && (g.out[2] < lanes || conv.inputs() > kManyInputs)) return 6;
  // Near images are converted to channels-last in less time than copied, where channels fill
  // vectors.
  const int64_t vectors = RoundUp(g.ic, lanes);
  const bool is_near = g.IsImage() && g.ic * g.in[1] * g.in[2] <= kNearInput;
  const bool copies = 5 * g.ic >= 4 * vectors && is_near && !flat.reads_planes;
  const int64_t few = flat.reads_planes ? kFewUncopiedTaps : kFewTaps;
  if (is_depthwise && lanes <= 8 && LoadsFarTaps(g)) return flat.kept() >= 0.5 ? kBesideBest : 6;
  if (is_depthwise && (copies || g.kernel[1] * g.kernel[2] * g.ic > few * vectors)) return 6;
  const double kept = flat.kept();
  if (2 * outputs <= lanes && !is_depthwise) return kept >= 0.5 ? kBeforeBest : 6;
  const bool is_shallow = conv.inputs() <= kFewInputs && !is_depthwise;
  if (conv.is_light())
    return kept >= (is_shallow ? 0.5 : g.groups > 1 ? 0.6 : 0.75) ? kBesideBest : 6;
  const double filled = static_cast<double>(outputs) /
                        static_cast<double>(RoundUp(outputs, lanes)) * (is_shallow ? 0.5 : 1.0);
  return kept > 1.15 * filled && !SuitsWinograd(conv) ? kBesideBest : 6;
}

}  // namespace fettle::kernels
