// Tiles of elements that do not lie side by side, copied so that they do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace fettle::kernels::elementwise {

/// The first of `count` copies of a tile, side by side, is there: the others.
void RepeatTile(std::byte* tile, int64_t bytes, int64_t count);

/// `n` elements of 1, 2, 4 or 8 bytes that lie `stride` of them apart.
void CopyElements(int64_t bytes, const std::byte* from, int64_t stride, int64_t n, std::byte* to);

/// A tile of such elements, of one dimension or more. Returns where the copy ends.
std::byte* CopyTile(int64_t bytes, std::span<const int64_t> dims, std::span<const int64_t> strides,
                    const std::byte* from, std::byte* to);

/// Whether the elements of a tile follow each other.
bool IsDenseTile(std::span<const int64_t> dims, std::span<const int64_t> strides);

}  // namespace fettle::kernels::elementwise
