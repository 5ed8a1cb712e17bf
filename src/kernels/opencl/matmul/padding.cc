#include "kernels/opencl/matmul/padding.h"

#include <algorithm>

#include "kernels/opencl/launch.h"

namespace fettle::kernels {
namespace {

/// What pad_rows.cl writes at a time, and the multiples that copies begin at.
constexpr int64_t kPieceBytes = 16, kCopyAlignment = 64;

cl_int AsInt(int64_t value) { return static_cast<cl_int>(value); }

}  // namespace

Result<ProductPadding> ProductPadding::Create(const GemmSetup& setup, DType storage,
                                              const OpenClDevice& device) {
  ProductPadding padding;
  padding.a_ = setup.pad_a;
  padding.b_ = setup.pad_b;
  padding.element_ = StorageBytes(storage, 1);
  const auto bytes_of = [&](const GemmSetup::Padding& copied) {
    return DivideUp(StorageBytes(storage, copied.elements()), kCopyAlignment) * kCopyAlignment;
  };
  padding.bytes_of_a_ = bytes_of(setup.pad_a);
  padding.bytes_of_b_ = bytes_of(setup.pad_b);
  BuildOptions options;
  options.Define("EMULATED", 1);  // of the instructions nothing is used
  if (setup.pad_b.transposes) {
    ASSIGN_OR_RETURN(
        padding.columns_,
        device.BuildKernel(MakeProgram("matmul/pad_columns.cl", options), "gemm_pad_columns"));
  }
  options.Define("ELEMENT_BYTES", padding.element_).Define("ROUNDED", setup.rounds ? 1 : 0);
  if (setup.pad_a.matrices > 0 || (setup.pad_b.matrices > 0 && !setup.pad_b.transposes)) {
    ASSIGN_OR_RETURN(padding.rows_, device.BuildKernel(MakeProgram("matmul/pad_rows.cl", options),
                                                       "gemm_pad_rows"));
  }
  return padding;
}

Status ProductPadding::Launch(OpenClStream& stream, Location to, Location& a, Location& b) const {
  Location of_b = to;
  of_b.offset += bytes_of_a_;
  if (rows_ != nullptr) RETURN_IF_ERROR(LaunchRows(stream, to, a, b));
  if (columns_ != nullptr) RETURN_IF_ERROR(LaunchColumns(stream, of_b, b));
  if (a_.matrices > 0) a = to;
  if (b_.matrices > 0) b = of_b;
  return OkStatus();
}

Status ProductPadding::LaunchRows(OpenClStream& stream, const Location& to, const Location& a,
                                  const Location& b) const {
  ArgList list;
  const auto append = [&](const Location& from, const GemmSetup::Padding& copied, bool is_copied) {
    list.Tensor(from, element_).Value(AsInt(is_copied ? copied.matrices * copied.rows : 0));
    list.Value(AsInt(copied.columns)).Value(AsInt(is_copied ? copied.pitch : kPieceBytes));
  };
  append(a, a_, a_.matrices > 0);
  append(b, b_, b_.matrices > 0 && !b_.transposes);
  list.Tensor(to, kPieceBytes).Value(AsInt(bytes_of_a_ / kPieceBytes));
  const auto pieces_of = [&](const GemmSetup::Padding& copied) {
    return copied.transposes || copied.matrices == 0 ? 0 : copied.pitch * element_ / kPieceBytes;
  };
  const int64_t pieces = std::max(pieces_of(a_), pieces_of(b_));
  const int64_t rows = a_.matrices * a_.rows + (b_.transposes ? 0 : b_.matrices * b_.rows);
  // Neighbours are of one row where it is long enough.
  constexpr int64_t kItems = 256, kMostAlong = 32;
  int64_t along = 1;
  while (along < pieces && along < kMostAlong) along *= 2;
  const int64_t across = kItems / along;
  const auto whole = [](int64_t extent, int64_t group) {
    return static_cast<size_t>(DivideUp(extent, group) * group);
  };
  return stream.Launch(*rows_,
                       {.gws = {whole(pieces, along), whole(rows, across), 1},
                        .lws = {static_cast<size_t>(along), static_cast<size_t>(across), 1}},
                       list.args());
}

Status ProductPadding::LaunchColumns(OpenClStream& stream, const Location& to,
                                     const Location& b) const {
  constexpr int64_t kEdge = 32, kItemsY = 8;
  ArgList list;
  list.Tensor(b, element_).Value(AsInt(b_.rows)).Value(AsInt(b_.columns));
  list.Value(AsInt(b_.pitch)).Tensor(to, element_);
  const auto along = [](int64_t extent) { return static_cast<size_t>(DivideUp(extent, kEdge)); };
  return stream.Launch(*columns_,
                       {.gws = {along(b_.pitch) * kEdge, along(b_.columns) * kItemsY,
                                static_cast<size_t>(b_.matrices)},
                        .lws = {kEdge, kItemsY, 1}},
                       list.args());
}

void RoundToTf32(std::span<uint32_t> floats) {
  constexpr uint32_t kExponent = 0x7f800000, kHalfOfLast = 0x1000, kLost = 0x1fff;
  for (uint32_t& bits : floats)
    if ((bits & kExponent) != kExponent) bits = (bits + kHalfOfLast) & ~kLost;
}

}  // namespace fettle::kernels
