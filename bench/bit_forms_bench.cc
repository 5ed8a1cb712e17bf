// Products of bits on an OpenCL device, in each form of counting and by matrix instructions: the
// four layers of Bi-Real Net 18 with shortcut and the signs of the sum, timed behind a gate in
// every tile of a grid, the fastest of each form printed beside its usual tile. Results are those
// of words of 32 bit for bit, which tests compare with the oracle.
//
//     bit_forms_bench [--device CHOICE] [--emulate] [--launches N] [--share I/N] [--side N]
//     [--usual]
//
// bench/launch_options.h has the others; --side divides the layers' extents by N, for slow devices;
// --usual times the usual tile alone, where a driver takes a second to build each.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/gate.h"
#include "bench/launch_options.h"
#include "ir/noise.h"
#include "ir/text.h"
#include "kernels/backend.h"
#include "kernels/check/bound_kernel.h"
#include "ops/op.h"
#include "tensor/reorder.h"

namespace {

using namespace fettle;  // NOLINT: a program of one file
using kernels::Params;

struct Layer {
  int64_t channels, extent;
};
constexpr Layer kLayers[] = {{64, 56}, {128, 28}, {256, 14}, {512, 7}};

/// A way to count, and the tiles that it is tried in.
struct Form {
  std::string_view name, kernel;
  std::vector<Params> tiles;
};

std::vector<Form> Forms() {
  constexpr std::string_view kNames[] = {"popcount of 32", "popcount of 16", "dot8, two weights",
                                         "dot8, one weight", "f16 of 0 and 1"};
  std::vector<Form> forms;
  for (int64_t form = 0; form < 5; ++form) {
    Form& one = forms.emplace_back(Form{kNames[form], "opencl.binary.product", {{{"form", form}}}});
    for (const int64_t quads : {1, 2, 4})
      for (const int64_t columns : {1, 2, 4})
        for (const int64_t group_y : {1, 4})
          one.tiles.push_back({{"form", form},
                               {"quads", quads},
                               {"columns", columns},
                               {"group_x", 64 / group_y},
                               {"group_y", group_y}});
  }
  Form& mma = forms.emplace_back(Form{"b1 mma", "opencl.binary.mma", {{}}});
  for (const int64_t bm : {16, 32, 64})
    for (const int64_t bn : {16, 32, 64})
      for (const int64_t warps : {1, 2, 4})
        mma.tiles.push_back({{"BM", bm},
                             {"BN", bn},
                             {"WM", std::min<int64_t>(bm, bm * bn > 1024 ? 32 : 16)},
                             {"WN", std::min<int64_t>(bn, bm * bn > 1024 ? 32 : 16)},
                             {"WARPS_K", warps}});
  return forms;
}

std::shared_ptr<const ir::Graph> GroupOf(const Layer& layer) {
  const int64_t c = layer.channels, side = layer.extent;
  std::string scales;
  for (const std::string_view of : {"-0.5 ", "0.5 ", "0 "})
    for (int64_t i = 0; i < c; ++i) scales += of;
  const std::string text = fmt::format(
      "input %x: u64[1x{2}x{2}x{1}]\ninput %s: f32[1x{0}x{2}x{2}]\n"
      "const %w: u64[{0}x3x3x{1}] = noise(0, 9007199254740991)\nconst %r: f32[3x{0}] = {3}\n"
      "%c = BinaryConv(%x, %w, %r) {{channels={0}, pads=[1,1,1,1]}}\n%y = Add(%c, %s)\n"
      "%t = PackBits(%y) {{low=0.0, high=inf}}\noutput %y\noutput %t\n",
      c, c / 64, side, scales);
  ir::Graph graph = ops::Parse(text).value();
  if (!ops::InferGraph(graph).ok()) std::abort();
  return std::make_shared<const ir::Graph>(std::move(graph));
}

bool IsValid(const kernels::ParamSpace& space, const Params& params) {
  for (const kernels::Tunable& tunable : space.tunables) {
    const auto& values = tunable.values;
    if (std::find(values.begin(), values.end(), params.at(tunable.name)) == values.end())
      return false;
  }
  return !space.check || space.check(params).ok();
}

/// A kernel with its operands, inputs written.
std::optional<kernels::BoundKernel> Bind(const Form& form, const Params& tile,
                                         const std::shared_ptr<const ir::Graph>& graph,
                                         const OpenClDevice& device, Stream& stream) {
  const kernels::KernelDesc& kernel = *kernels::FindKernel(form.kernel);
  const auto states = kernels::CandidatesOf(kernel, *graph, device);
  if (!states.ok()) return std::nullopt;
  const kernels::Problem problem{graph, states->front(), 1};
  const kernels::ParamSpace space = kernels::SpaceOf(kernel, problem, device);
  Params params = space.usual;
  for (const auto& [name, value] : tile) params[name] = value;
  if (!IsValid(space, params)) return std::nullopt;
  auto prepared = kernels::PrepareKernel(kernel, problem, params, device);
  if (!prepared.ok()) return std::nullopt;
  const kernels::Operands operands = kernels::OperandsOf(problem);
  auto memory = std::make_shared<kernels::OperandMemory>();
  if (!Allocate(operands, false, device, *memory).ok()) return std::nullopt;
  auto bound =
      kernels::BoundKernel::Bind(std::move(*prepared), operands, graph.get(), memory, device);
  if (!bound.ok()) return std::nullopt;
  std::vector<std::vector<std::byte>> bytes;
  for (const kernels::Operand& x : operands.inputs) {
    const bool is_bits = x.dtype == DType::kU64;
    const ir::NoiseRange range = is_bits ? ir::NoiseRange{0, 9007199254740991} : ir::NoiseRange{};
    const Tensor noise = ir::NoiseTensor(x.dtype, x.shape, 1, range).value();
    bytes.emplace_back(StateBytes(x.shape, x.state));
    Reorder(x.shape, {.storage = x.dtype}, noise.data(), x.state, bytes.back().data());
  }
  const std::vector<std::span<const std::byte>> inputs(bytes.begin(), bytes.end());
  if (!bound->WriteInputs(inputs, stream).ok()) return std::nullopt;
  return std::move(*bound);
}

/// What a launch writes, all of it; nothing where it fails.
std::vector<std::byte> OutputsOf(const kernels::BoundKernel& bound, Stream& stream) {
  std::vector<std::byte> all;
  if (!bound.Launch(stream).ok() || !bound.Fetch(stream).ok()) return all;
  for (size_t o = 0; o < bound.operands().outputs.size(); ++o) {
    const kernels::Operand& y = bound.operands().outputs[o];
    const State plainly{.storage = y.dtype};
    std::vector<std::byte> plain(StateBytes(y.shape, plainly));
    Reorder(y.shape, y.state, bound.output(o), plainly, plain.data());
    all.insert(all.end(), plain.begin(), plain.end());
  }
  return all;
}

struct Run {
  const OpenClDevice& device;
  OpenClStream& stream;
  Gate* gate = nullptr;  // null: build alone
  int launches = 100, share = 0, shares = 1;
  bool usual_alone = false;
};

void TimeForm(const Layer& layer, const Form& form, const std::shared_ptr<const ir::Graph>& graph,
              const Run& run, std::vector<std::byte>& want) {
  double usual = 0, best = 1e30;
  int tried = 0, wrong = 0, built = 0;
  Params best_tile;
  if (run.gate != nullptr) fmt::print("  {:<18} ", form.name);
  std::fflush(stdout);
  const size_t tiles = run.usual_alone ? 1 : form.tiles.size();
  for (const Params& tile : std::span(form.tiles).first(tiles)) {
    if (run.gate == nullptr && built++ % run.shares != run.share) continue;
    const auto bound = Bind(form, tile, graph, run.device, run.stream);
    if (!bound || run.gate == nullptr) continue;
    const std::vector<std::byte> got = OutputsOf(*bound, run.stream);
    if (want.empty()) want = got;
    if (got != want) ++wrong;
    const double us = run.gate->LeastMicroseconds(run.launches, 3, [&] {
      if (!bound->Launch(run.stream).ok()) std::abort();
    });
    if (tried++ == 0) usual = us;
    if (us >= best) continue;
    best = us;
    best_tile = tile;
  }
  if (run.gate == nullptr) return;
  if (tried == 0) {
    fmt::print("not here\n");
    return;
  }
  if (best <= 0) {
    fmt::print("less than what the gate varies by: more --launches\n");
    return;
  }
  std::string tile;
  for (const auto& [name, value] : best_tile) tile += fmt::format(" {}={}", name, value);
  const double products = 9.0 * static_cast<double>(layer.channels * layer.channels) *
                          static_cast<double>(layer.extent * layer.extent);
  fmt::print("{:8.2f} us, usual tile {:8.2f} us, {:6.2f} T multiply-adds/s, {} tiles{}:{}\n", best,
             usual, products / best * 1e-6, tried,
             wrong > 0 ? fmt::format(", {} WRONG", wrong) : "", tile.empty() ? " usual" : tile);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const bench::LaunchOptions options = bench::ReadLaunchOptions(argc, argv, 100);
  const int side = std::max(1, bench::NumberOf(argc, argv, "--side", 1));
  const auto stream = OpenClStream::Create(options.device).value();
  std::optional<Gate> gate;
  if (options.shares == 0) gate.emplace(*stream);
  bool usual_alone = false;
  for (int i = 1; i < argc; ++i) usual_alone |= argv[i] == std::string_view("--usual");
  const Run run{*options.device,  *stream,       gate ? &*gate : nullptr,
                options.launches, options.share, std::max(1, options.shares),
                usual_alone};
  for (Layer layer : kLayers) {
    layer.extent = std::max<int64_t>(1, layer.extent / side);
    if (gate)
      fmt::print("{} channels of {}x{}, 3x3:\n", layer.channels, layer.extent, layer.extent);
    std::fflush(stdout);
    const auto graph = GroupOf(layer);
    std::vector<std::byte> want;
    for (const Form& form : Forms()) TimeForm(layer, form, graph, run, want);
  }
}
