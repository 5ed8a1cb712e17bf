// compiled: small
#include "kernels/cpu/conv/plane_problem.h"

#include <algorithm>

#include "kernels/cpu/conv/at_extents.h"
#include "kernels/cpu/conv/operands.h"
#include "tensor/read_floats.h"

namespace fettle::kernels {
namespace {

/// Floats of the lines that output planes pass over again and again: half of a first-level cache.
constexpr int64_t kNearFloats = 4 << 10;
/// Floats of a ring of lines.
constexpr int64_t kMostRingFloats = 1 << 20;
/// Multiply-adds for an element of the output that are few beside its conversion.
constexpr int64_t kFewMacs = 128;
/// Vectors of a line that is computed by itself.
constexpr int64_t kLongLine = 16;
/// Phases are listed.
constexpr int64_t kMostPhases = 64;

void FindPhases(PlaneProblem& conv) {
  const int64_t stride = conv.g.stride[2], dilation = conv.g.dilation[2], pad = conv.g.pad[2];
  conv.phases.resize(conv.transposed ? stride : 1);
  conv.low = INT64_MAX, conv.high = INT64_MIN;
  for (int64_t tap = 0; tap < conv.g.kernel[2]; ++tap) {
    const int64_t at = tap * dilation - pad;
    // The remainder that is not negative.
    const int64_t phase = conv.transposed ? (at % stride + stride) % stride : 0;
    const int64_t offset = conv.transposed ? (phase - at) / stride : at;
    conv.phases[phase].taps.push_back(tap);
    conv.phases[phase].offsets.push_back(offset);
    conv.low = std::min(conv.low, offset);
    conv.high = std::max(conv.high, offset);
  }
}

/// Weight of an output and an input of a group at a tap, counted through all axes.
struct Filters {
  const PlaneProblem& conv;
  std::vector<float> values;

  float At(int64_t group, int64_t output, int64_t input, int64_t tap) const {
    const int64_t inputs = conv.inputs(), outputs = conv.outputs();
    const int64_t plane = conv.transposed ? (group * inputs + input) * outputs + output
                                          : (group * outputs + output) * inputs + input;
    return values[plane * conv.g.taps() + tap];
  }
};

float* PackBlock(const Filters& filters, int64_t group, int64_t first, int64_t count, float* out) {
  const PlaneProblem& conv = filters.conv;
  const int64_t stored = PlaneBlock(count), columns = conv.g.kernel[2];
  for (const PlanePhase& phase : conv.phases) {
    for (int64_t line = 0; line < conv.inputs() * conv.kernel_rows(); ++line) {
      const int64_t input = line / conv.kernel_rows(), row = line % conv.kernel_rows();
      for (const int64_t tap : phase.taps) {
        for (int64_t o = 0; o < stored; ++o)
          *out++ = o < count ? filters.At(group, first + o, input, row * columns + tap) : 0.0f;
      }
    }
  }
  return out;
}

void Pack(const PlaneProblem& conv, const Constant& w, const Constant* b, float* out) {
  const int64_t depth = conv.inputs() * conv.g.taps(), outputs = conv.outputs();
  const PlaneBlocks blocks(outputs);
  Filters filters{conv, std::vector<float>(conv.g.oc * depth)};
  std::vector<float> bias(conv.g.oc, 0.0f);
  ReadFloats(w, 0, conv.g.oc * depth, filters.values.data());
  if (b != nullptr) ReadFloats(*b, 0, conv.g.oc, bias.data());
  float* bias_out = out + conv.g.groups * blocks.stored() * depth;
  for (int64_t group = 0; group < conv.g.groups; ++group) {
    for (int64_t first = 0; first < outputs; first += blocks.each) {
      const int64_t count = blocks.OutputsAt(first);
      out = PackBlock(filters, group, first, count, out);
      for (int64_t o = 0; o < PlaneBlock(count); ++o)
        *bias_out++ = o < count ? bias[group * outputs + first + o] : 0.0f;
    }
  }
}

}  // namespace

PlaneBlocks::PlaneBlocks(int64_t planes)
    : outputs(planes), each(CeilDiv(planes, CeilDiv(planes, GetPlaneKernels().most_outputs))) {}

int64_t PlaneBlocks::stored() const {
  const int64_t last = (CeilDiv(outputs, each) - 1) * each;
  return StoredBefore(last) + PlaneBlock(outputs - last);
}

int64_t PlaneProblem::macs() const {
  const int64_t phases = transposed ? g.stride[0] * g.stride[1] * g.stride[2] : 1;
  return CeilDiv(inputs() * g.taps(), phases);
}

bool PlaneProblem::is_light() const {
  const PlaneKernels& kernels = GetPlaneKernels();
  // An input is converted for as much as two vectors of sums take.
  const bool is_few = !transposed && g.taps() * outputs() <= 2 * kernels.lanes;
  return outputs() <= kernels.most_outputs || macs() <= kFewMacs || is_few;
}

bool PlaneProblem::suits_flat() const {
  if (transposed || g.out[1] == 1) return false;
  const bool is_long = g.out[2] >= kLongLine * GetPlaneKernels().lanes;
  // Several outputs' columns in the padding cost more than a few calls.
  return !is_long || step() > 1 || outputs() == 1 || high == low;
}

int64_t PlaneProblem::window() const {
  const int64_t span = (g.kernel[1] - 1) * g.dilation[1];
  return (transposed ? span / g.stride[1] : span) + 1;
}

int64_t PlaneProblem::InputOf(int axis, int64_t output, int64_t k) const {
  const int64_t tap = k * g.dilation[axis] - g.pad[axis], stride = g.stride[axis];
  int64_t at = output * stride + tap;
  if (transposed) {
    at = output - tap;
    if (at < 0 || at % stride != 0) return -1;
    at /= stride;
  }
  return at >= 0 && at < g.in[axis] ? at : -1;
}

bool PlaneProblem::reads_lines() const {
  return step() == 1 && low >= 0 && CeilDiv(g.out[2], num_phases()) - 1 + high < g.in[2];
}

int64_t PlaneProblem::columns() const {
  const int64_t width = g.out[2], lines = inputs() * kernel_rows();
  const int64_t least = std::max<int64_t>(kNearFloats / lines / g.stride[2], 256);
  if (width < 2 * least) return width;
  return RoundUp(CeilDiv(width, width / least), num_phases());
}

int64_t PlaneProblem::part_floats() const {
  const int64_t last = (CeilDiv(columns(), num_phases()) - 1) * step();
  return CeilDiv(last + high - low + 1, step()) | 1;
}

bool PlaneProblem::MoveTo(const ir::Graph& group, PixelLayout& out) {
  const std::optional<ConvAt> at = AtExtents(read, {out, out}, group);
  // What is known of taps holds for these pads.
  if (transposed || !at || at->g.image_pixels() == 0 || at->g.pad != read.pad) return false;
  read = g = at->g;
  out = at->pixels.out;
  if (g.IsPointwise()) g.in = g.out = {1, 1, g.image_pixels()};
  return reads_lines() || ring_floats() <= kMostRingFloats;
}

Result<PlaneProblem> ReadPlanes(const ir::Graph& group, bool transposed) {
  ASSIGN_OR_RETURN(const ConvOperands operands,
                   ReadConvOperands(group, transposed ? "ConvTranspose" : "Conv"));
  const ir::Node& node = group.nodes()[0];
  ASSIGN_OR_RETURN(const ConvGeometry g,
                   transposed ? ReadTransposeGeometry(group, node) : ReadConvGeometry(group, node));
  if (g.oc == 0 || g.ic == 0) return Unsupported("no channels");
  if (g.image_pixels() == 0 || g.in[0] * g.in[1] * g.in[2] == 0)
    return Unsupported("nothing to compute");
  if (transposed && g.stride[2] > kMostPhases) return Unsupported("a stride over {}", kMostPhases);
  PlaneProblem conv{.operands = operands, .read = g, .g = g, .transposed = transposed};
  if (!transposed && g.IsPointwise()) conv.g.in = conv.g.out = {1, 1, g.image_pixels()};
  FindPhases(conv);
  if (!conv.reads_lines() && conv.ring_floats() > kMostRingFloats)
    return Unsupported("a ring of {} floats", conv.ring_floats());
  return conv;
}

PackRequest RequestPlanes(const PlaneProblem& conv) {
  const ConvGeometry& g = conv.g;
  const PlaneBlocks blocks(conv.outputs());
  std::string recipe = fmt::format("conv.planes.g{}.by{}", g.groups, blocks.each);
  if (conv.transposed)
    recipe += fmt::format(".t{}.s{}.d{}.p{}", g.kernel[2], g.stride[2], g.dilation[2],
                          g.pad[2] % g.stride[2]);
  return RequestWeights(
      conv.operands, std::move(recipe) + ".f32",
      g.groups * blocks.stored() * (conv.inputs() * g.taps() + 1),
      [conv](const Constant& w, const Constant* b, float* out) { Pack(conv, w, b, out); });
}

}  // namespace fettle::kernels
