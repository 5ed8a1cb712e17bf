#include "kernels/opencl/half_weights/half_rows.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "kernels/opencl/constant_floats.h"
#include "kernels/opencl/one_row/warps.h"
#include "kernels/opencl/states.h"
#include "kernels/opencl/work_sizes.h"
#include "tensor/sixteen_bits.h"

namespace fettle::kernels {
namespace {

/// Of one row where lanes are a warp (one_row/lanes.clh), which holds eight octets at a time.
HalfTile WarpTile(int64_t n, const OpenClFacts& of) {
  HalfTile tile{.items = 256, .lanes = 32, .columns = 2};
  const auto groups = [&] { return DivideUp(n, tile.group_columns()); };
  if (groups() < 2 * of.compute_units) tile.columns = 1;
  while (tile.items > 64 && groups() < of.compute_units) tile.items /= 2;
  return tile;
}

}  // namespace

Status CheckHalfTile(const HalfTile& tile, const OpenClFacts& of) {
  if (tile.lanes > tile.items) return InvalidArgument("lanes: expected at most {}", tile.items);
  if (tile.items > std::min(of.max_work_group_size, of.max_work_item_sizes[0]))
    return Unsupported("{} work-items: the device takes fewer", tile.items);
  if (tile.bytes() > of.local_bytes)
    return Unsupported("{} bytes of local memory: there are {}", tile.bytes(), of.local_bytes);
  return OkStatus();
}

Result<HalfFacts> ReadHalfProduct(const ir::Graph& group, const Product& p, const Device& device) {
  HalfFacts facts;
  facts.p = p;
  if (p.m == 0 || p.n == 0 || p.k == 0) return Unsupported("an empty operand");
  if (p.alpha != 1 || p.addend != ir::kAbsent) return Unsupported("a factor, or an addend");
  const std::optional<DType> stored = SixteenBitsOf(*group.value(p.b).constant);
  if (!stored) return Unsupported("weights that are not widened from f16 or bf16");
  facts.storage = *stored;
  facts.widened = group.value(p.b).dtype == DType::kF32;
  if (p.k % 8 != 0) return Unsupported("rows of {}: no octets", p.k);
  if (std::max(p.n * p.k / 8, p.m * std::max(p.n, p.k)) > std::numeric_limits<cl_int>::max())
    return Unsupported("kernels count elements in 32 bits");
  RETURN_IF_ERROR(CheckHalfTile(kLeastHalfTile, AsOpenCl(device).facts()));
  return facts;
}

HalfTile UsualHalfTile(const HalfFacts& facts, int64_t n, const OpenClFacts& of) {
  HalfTile tile;
  if (facts.p.m == 1 && TakesPtx(of))
    if (const HalfTile warps = WarpTile(n, of); CheckHalfTile(warps, of).ok()) return warps;
  while (tile.rows < 8 && tile.rows < facts.p.m) tile.rows *= 2;
  if (tile.rows > 2) tile.columns = 2;
  while (tile.lanes > 8 && tile.lanes > facts.p.k / 8) tile.lanes /= 2;
  const auto groups = [&] {
    return DivideUp(n, tile.group_columns()) * DivideUp(facts.p.m, tile.rows);
  };
  while (tile.columns > 1 && groups() < 2 * of.compute_units) tile.columns /= 2;
  while (tile.items > 64 && groups() < of.compute_units) tile.items /= 2;
  return CheckHalfTile(tile, of).ok() ? tile : kLeastHalfTile;
}

Result<std::vector<StateAssignment>> HalfRowStates(const ir::Graph& group, const HalfFacts&,
                                                   const Device&) {
  StateAssignment states = StatesBeside(group, RowStates()[0]);
  if (!IsFloatValue(group.value(group.outputs[0]).dtype))
    return Unsupported("an output that is not a float");
  RETURN_IF_ERROR(Expression::Compile(group, states, group.nodes()[0].output(0)).status());
  return std::vector<StateAssignment>{std::move(states)};
}

PackRequest PackHalfWeights(const HalfFacts& facts) {
  const Product& p = facts.p;
  PackRequest request;
  request.constants = {p.b};
  request.recipe =
      fmt::format("opencl.half_weights.{}{}", p.trans_b ? "nk" : "kn", DTypeName(facts.storage));
  request.bytes = StorageBytes(facts.storage, p.n * p.k);
  request.pack = [facts](std::span<const Constant* const> constants, std::byte* out) {
    const Product& p = facts.p;
    if (const auto bytes = SixteenBitBytes(*constants[0], !p.trans_b); !bytes.empty()) {
      std::ranges::copy(bytes, out);
      return OkStatus();
    }
    StoreMatrix(*constants[0],
                {.rows = p.trans_b ? p.n : p.k,
                 .columns = p.trans_b ? p.k : p.n,
                 .transposes = !p.trans_b,
                 .pitch = p.k},
                facts.storage, out);
    return OkStatus();
  };
  return request;
}

BuildOptions HalfOptions(const HalfFacts& facts, const HalfTile& tile, const Device& device) {
  BuildOptions options = AccessOptions(RowStates()[0]);
  kHalfFields.Define(tile, options);
  options.Define("OCTETS", facts.p.k / 8)
      .Define("BFLOAT", facts.storage == DType::kBF16 ? 1 : 0)
      .Define("PTX", TakesPtx(AsOpenCl(device).facts()) ? 1 : 0);
  return options;
}

}  // namespace fettle::kernels
