// opencl.conv.separable: a filter per channel and the product behind it in one launch
// (separable.cl).
#include <algorithm>
#include <tuple>

#include "kernels/opencl/conv/product_chain.h"
#include "kernels/opencl/depthwise/depthwise.h"
#include "kernels/opencl/work_sizes.h"

namespace fettle::kernels {
namespace {

/// A convolution with one filter per channel, bounds of what it makes, and a 1x1 convolution.
struct Separable {
  PixelConv filter, product;
  Bounds bounds;
};

/// What a work-group computes, and how many pixels of it a work-item.
struct SeparableTile {
  int64_t pixels = 4, item_pixels = 1, oc_quads = 8, slices = 1;
  int64_t items() const { return oc_quads * (pixels / item_pixels) * slices; }
};
constexpr std::initializer_list<int64_t> kPixels{1, 2, 4, 8, 16, 32, 64};
constexpr std::initializer_list<int64_t> kOcQuads{2, 4, 6, 8, 10, 12, 16, 24, 32};
constexpr std::initializer_list<int64_t> kSlices{1, 2, 4, 8, 16, 32};
constexpr Fields kSeparableFields(
    "conv/separable.cl", Field{"pixels", &SeparableTile::pixels, kPixels, "PIXELS"},
    Field{"pixel_item", &SeparableTile::item_pixels, {1, 2, 4, 8}, "PIXEL_ITEM"},
    Field{"oc_quads", &SeparableTile::oc_quads, kOcQuads, "OC_QUADS"},
    Field{"slices", &SeparableTile::slices, kSlices, "SLICES"});

Result<std::vector<StateAssignment>> StatesOfBoth(const ir::Graph& group,
                                                  const Separable& separable,
                                                  const Device& device) {
  return PixelCandidates(group, separable.product.y, device);
}

int64_t LocalBytes(const Separable& separable, const SeparableTile& tile) {
  const int64_t filtered = DivideUp(separable.filter.ic, 4) * tile.pixels;
  return std::max(filtered, tile.slices * tile.oc_quads * tile.pixels) * 16;
}

int64_t MostItems(const OpenClFacts& facts) {
  return std::min(facts.max_work_group_size, facts.max_work_item_sizes[0]);
}

bool Fits(const Separable& separable, const SeparableTile& tile, const OpenClFacts& facts) {
  return tile.pixels % tile.item_pixels == 0 && tile.items() <= MostItems(facts) &&
         LocalBytes(separable, tile) <= facts.local_bytes;
}

Status CheckSeparable(const Separable& separable, const SeparableTile& tile,
                      const OpenClFacts& facts) {
  if (Fits(separable, tile, facts)) return OkStatus();
  if (tile.pixels % tile.item_pixels != 0)
    return Unsupported("pixel_item: {} pixels are not cut evenly", tile.pixels);
  if (tile.items() > MostItems(facts))
    return Unsupported("{} work-items: the device takes {}", tile.items(), MostItems(facts));
  return Unsupported("{} bytes of local memory: there are {}", LocalBytes(separable, tile),
                     facts.local_bytes);
}

/// The tile of the least local memory.
constexpr SeparableTile kLeastTile{.pixels = 1, .oc_quads = 2};

Result<Separable> ReadSeparable(const ir::Graph& group, const Device& device) {
  Separable separable;
  ASSIGN_OR_RETURN(separable.filter, ReadPixelConv(group));
  if (!separable.filter.IsDepthwise() || separable.filter.oc != separable.filter.ic)
    return Unsupported("not a filter per channel");
  ir::ValueId value = separable.filter.y;
  for (const ir::Node& node : group.nodes()) {
    if (node.input(0) != value) continue;
    if (node.op == "Conv"_op) {
      ASSIGN_OR_RETURN(separable.product, ReadProduct(group, node));
      RETURN_IF_ERROR(CheckSeparable(separable, kLeastTile, AsOpenCl(device).facts()));
      return separable;
    }
    RETURN_IF_ERROR(Clamp(group, node, separable.bounds));
    value = node.output(0);
  }
  return Unsupported("no 1x1 convolution follows");
}

/// Microseconds that a large GPU takes beside the launch itself, by a fit to 306 times of an H200
/// (half of them within 9 %, 90 % within 24): work-groups that begin, and loads that wait for each
/// other, in each round of groups; weights that all groups read; arithmetic.
double EstimatedUs(const Separable& separable, const SeparableTile& tile, int64_t weight_bytes,
                   const OpenClFacts& facts) {
  constexpr double kRound = 1.0, kThousandItems = 1.6, kFilters = 1.75, kStep = 0.18,
                   kMegabyte = 0.25, kArithmetic = 1.8;
  constexpr int64_t kItemsOfUnit = 2048;  // at once
  const PixelConv& product = separable.product;
  const int64_t in_quads = DivideUp(product.ic, 4);
  const int64_t groups = product.batch * DivideUp(product.image_pixels(), tile.pixels) *
                         DivideUp(DivideUp(product.oc, 4), tile.oc_quads);
  const int64_t groups_of_unit = DivideUp(groups, facts.compute_units);
  const int64_t rounds =
      DivideUp(groups_of_unit, std::max(kItemsOfUnit / tile.items(), int64_t{1}));
  const int64_t filters = DivideUp(in_quads * tile.pixels, tile.items());
  const int64_t steps = DivideUp(in_quads, tile.slices);
  const int64_t operations = steps * 16 * tile.item_pixels + filters * 4 * separable.filter.taps();
  const auto number = [](int64_t value) { return static_cast<double>(value); };
  return number(rounds) * (kRound + kThousandItems * number(tile.items()) / 1024 +
                           kFilters * number(filters) + kStep * number(steps)) +
         kMegabyte * number(groups * product.ic * tile.oc_quads * 4 * weight_bytes) * 1e-6 +
         kArithmetic * number(groups_of_unit * tile.items() * operations) / 128e3;
}

/// What is estimated to be the fastest on a GPU.
SeparableTile UsualSeparable(const Separable& separable, int64_t weight_bytes,
                             const OpenClFacts& facts) {
  constexpr SeparableTile kOfCpu{.pixels = 4, .oc_quads = 8};
  if (facts.is_cpu) return Fits(separable, kOfCpu, facts) ? kOfCpu : kLeastTile;
  SeparableTile best = kLeastTile;
  double best_us = EstimatedUs(separable, best, weight_bytes, facts);
  for (const int64_t pixels : kPixels) {
    for (const int64_t item_pixels : {1, 2, 4}) {
      for (const int64_t oc_quads : kOcQuads) {
        for (const int64_t slices : kSlices) {
          const SeparableTile tile{pixels, item_pixels, oc_quads, slices};
          if (!Fits(separable, tile, facts)) continue;
          const double us = EstimatedUs(separable, tile, weight_bytes, facts);
          if (us < best_us) std::tie(best, best_us) = std::pair(tile, us);
        }
      }
    }
  }
  return best;
}

ParamSpace SeparableSpace(const Problem& problem, const Separable& separable,
                          const Device& device) {
  const OpenClFacts& facts = AsOpenCl(device).facts();
  const int64_t weight_bytes = StorageBytes(problem.states.outputs[0].storage, 1);
  return {kSeparableFields.Tunables(),
          kSeparableFields.Write(UsualSeparable(separable, weight_bytes, facts)),
          [separable, &facts](const Params& params) {
            return CheckSeparable(separable, kSeparableFields.Read(params), facts);
          }};
}

BuildOptions SeparableOptions(const PixelConv& filter, const SeparableTile& tile,
                              const State& state) {
  BuildOptions options = AccessOptions(state);
  kSeparableFields.Define(tile, options);
  options.Define("IN_QUADS", DivideUp(filter.ic, 4));
  options.Define("KERNEL_H", filter.kernel[1]).Define("KERNEL_W", filter.kernel[2]);
  options.Define("STRIDE_H", filter.stride[1]).Define("STRIDE_W", filter.stride[2]);
  options.Define("DILATION_H", filter.dilation[1]).Define("DILATION_W", filter.dilation[2]);
  return options.Define("PAD_H", filter.pad[1]).Define("PAD_W", filter.pad[2]);
}

Result<std::unique_ptr<PreparedKernel>> PrepareSeparable(const Problem& problem,
                                                         const Separable& separable,
                                                         const Params& params,
                                                         const Device& device) {
  const auto& [filter, product, bounds] = separable;
  const SeparableTile tile = kSeparableFields.Read(params);
  const State& state = problem.states.outputs[0];
  const int64_t quads = DivideUp(DivideUp(product.oc, 4), tile.oc_quads) * tile.oc_quads;
  const WorkSizes sizes = GroupSizes(tile.items(), DivideUp(product.image_pixels(), tile.pixels),
                                     quads / tile.oc_quads, product.batch);
  ASSIGN_OR_RETURN(std::unique_ptr<RecordedKernel> made,
                   RecordPixels(problem, filter.x, product.y,
                                {.path = "conv/separable.cl",
                                 .function = "conv_separable",
                                 .options = SeparableOptions(filter, tile, state),
                                 .sizes = sizes},
                                device));
  made->own_packs.push_back(
      RequestFilter(filter.w, filter.b, DepthwiseForm(filter), state.storage));
  made->own_packs.push_back(
      RequestFilter(product.w, product.b, ProductForm(product, quads * 4), state.storage));
  made->recorded[0].Int(product.oc).Packed(0, 0).Packed(1, 0).Int(quads);
  made->recorded[0].Value(cl_float2{{bounds.low, bounds.high}});
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

/// Small products on GPUs that are through with either convolution before the host has enqueued the
/// next. Larger ones want tiles that read weights less often.
int SeparableTaste(const Separable& separable, const Device& device) {
  constexpr int64_t kMostMacs = 32 << 20;
  const PixelConv& product = separable.product;
  const bool is_small = product.pixels() * product.ic * product.oc <= kMostMacs;
  return HostLagsBehind(device) && is_small ? 20 : kOnlyMeasured;
}

constexpr Family<Separable> kSeparableFamily{.read = ReadSeparable,
                                             .states = StatesOfBoth,
                                             .prepare = PrepareSeparable,
                                             .params = SeparableSpace,
                                             .taste = SeparableTaste};

}  // namespace

extern const KernelDesc kOpenClConvSeparable;
const KernelDesc kOpenClConvSeparable = {.name = "opencl.conv.separable",
                                         .match = MatchAs<kSeparableFamily>,
                                         .parameters = ParametersOf<kSeparableFields>};

}  // namespace fettle::kernels
