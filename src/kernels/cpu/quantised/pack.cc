#include "kernels/cpu/quantised/pack.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "kernels/cpu/quantised_avx2/terms.h"
#include "kernels/cpu/quantised_avx2/winograd_tile.h"

namespace fettle::kernels {
namespace {

/// Element `i`, or the only one.
double At(const Constant* constant, int64_t i, double fallback) {
  if (constant == nullptr) return fallback;
  return constant->GetDouble(constant->elements() == 1 ? 0 : i);
}

class Packer {
 public:
  Packer(const QuantLayout& layout, const QuantConstants& constants, std::byte* out)
      : l_(layout), c_(constants), out_(out) {}

  void PackPanels() {
    std::memset(out_, 0, l_.zeros_offset());
    const std::vector<int64_t> places = PlacesInColumn();
    std::vector<Column> columns = Columns();
    l_.transposed ? PutRows(places, columns) : PutColumns(places, columns);
    if (l_.wide) return;
    auto* sums = reinterpret_cast<int32_t*>(out_ + l_.sums_offset());
    for (size_t o = 0; o < columns.size(); ++o)
      sums[ColumnOf(static_cast<int64_t>(o))] = columns[o].sum;
  }

  /// `x_scale` in units of the output's scale `y_scale`.
  void PackColumns(double x_scale, double y_scale) {
    auto* zeros = reinterpret_cast<int32_t*>(out_ + l_.zeros_offset());
    auto* scales = reinterpret_cast<float*>(out_ + l_.scales_offset());
    auto* adds = reinterpret_cast<float*>(out_ + l_.adds_offset());
    auto* biases = reinterpret_cast<int32_t*>(out_ + l_.biases_offset());
    std::memset(zeros, 0, l_.bytes() - l_.zeros_offset());
    for (int64_t channel = 0; channel < l_.groups * l_.oc; ++channel) {
      const int64_t n = ColumnOf(channel);
      zeros[n] = l_.wide || l_.terms ? 0 : Zero(channel) - l_.w_shift;
      const QuantisedColumn column = c_.Column(channel, x_scale, y_scale);
      scales[n] = column.scale;
      adds[n] = column.add;
      biases[n] = column.bias;
    }
  }

 private:
  /// Where the weights of one output channel go.
  struct Column {
    std::byte* at;
    int32_t zero;
    int64_t lane = 0;  // bytes of a step before it
    int32_t sum = 0;
    int64_t count = 0;
  };

  int64_t ColumnOf(int64_t channel) const {
    return channel / l_.oc * l_.panels() * l_.nr + channel % l_.oc;
  }
  int32_t Zero(int64_t channel) const { return c_.Zero(channel); }

  std::vector<Column> Columns() const {
    std::vector<Column> columns;
    for (int64_t channel = 0; channel < l_.groups * l_.oc; ++channel) {
      const int64_t o = channel % l_.oc;
      std::byte* at = out_ + channel / l_.oc * l_.group_bytes() + o / l_.nr * l_.panel_bytes();
      const int64_t lane = o % l_.nr * (l_.narrow ? 2 : 4);
      columns.push_back({l_.bits ? at : at + lane, Zero(channel), lane});
    }
    return columns;
  }

  /// Weights of one place of each column after the other.
  void PutRows(const std::vector<int64_t>& places, std::vector<Column>& columns) const {
    std::vector<std::byte> row(columns.size());
    for (size_t k = 0; k < places.size(); ++k) {
      c_.w->CopyTo(static_cast<int64_t>(k) * std::ssize(row), std::ssize(row), row.data());
      for (size_t o = 0; o < row.size(); ++o) Put(row[o], places[k], columns[o]);
    }
  }

  /// Weights of one column after the other, each in the part of its depth that is its own group's.
  void PutColumns(const std::vector<int64_t>& places, std::vector<Column>& columns) const {
    std::vector<std::byte> all(places.size());
    const int64_t own = std::ssize(places) / l_.merged;
    for (size_t o = 0; o < columns.size(); ++o) {
      Column column = columns[o];
      const auto at = static_cast<int64_t>(o);
      std::fill(all.begin(), all.end(), static_cast<std::byte>(column.zero));
      c_.w->CopyTo(at * own, own, all.data() + at * l_.merged / l_.oc % l_.merged * own);
      for (size_t k = 0; k < all.size(); ++k) Put(all[k], places[k], column);
      columns[o] = column;
    }
  }

  /// Of each weight of a channel, input channel by input channel: the bytes before it.
  std::vector<int64_t> PlacesInColumn() const {
    std::vector<int64_t> places;
    for (int64_t i = 0; i < l_.ic; ++i) {
      for (int64_t t = 0; t < l_.kernel_taps; ++t) {
        const int64_t tap = i / l_.block() * l_.block_taps() + t / l_.tap_pixels();
        const int64_t j = PixelInTap(t % l_.tap_pixels()) * l_.block() + i % l_.block();
        const int64_t k = tap * l_.tap_depth() + j;
        if (l_.wide) {
          const int64_t bytes = l_.narrow ? 1 : 2;
          places.push_back((k / 2 * l_.nr * 2 + k % 2) * bytes);
        } else if (l_.joined) {
          places.push_back(k / 4 * l_.nr * 4 + k % 4);
        } else {
          places.push_back((tap * l_.steps() + j / 4) * l_.nr * 4 + j % 4);
        }
      }
    }
    return places;
  }

  /// Where the pixel of a kernel's `t`th weight stands in its tap: stacked ones column by column.
  int64_t PixelInTap(int64_t t) const {
    return l_.stacked == 1 ? t : t % l_.kernel_width * l_.stacked + t / l_.kernel_width;
  }

  void Put(std::byte byte, int64_t place, Column& column) const {
    const int32_t w = l_.unsigned_w ? static_cast<int32_t>(byte)
                                    : static_cast<int32_t>(static_cast<int8_t>(byte));
    if (l_.narrow) {
      column.at[place] = static_cast<std::byte>(w - column.zero);
      return;
    }
    if (l_.wide) {
      const auto value = static_cast<int16_t>(w - column.zero);
      std::memcpy(column.at + place, &value, sizeof(value));
      return;
    }
    const int32_t value = w - l_.w_shift;
    column.sum += value;
    if (l_.bits) return PutBit(static_cast<std::byte>(value), place + column.lane, column);
    column.at[place] = static_cast<std::byte>(value);
  }

  /// A column's first value is what a bit of 0 chooses, any other what a 1 does.
  void PutBit(std::byte value, int64_t place, Column& column) const {
    std::byte* const low = column.at + column.lane;
    std::byte* const high = low + l_.nr * 4;
    if (column.count++ == 0) std::fill_n(low, 4, value);
    if (value == *low) return;
    std::fill_n(high, 4, value);
    std::byte* const bits = column.at + 2 * l_.nr * 4;
    bits[place / 8] |= std::byte{1} << (place % 8);
  }

  const QuantLayout& l_;
  const QuantConstants& c_;
  std::byte* out_;
};

}  // namespace

QuantisedColumn MakeQuantisedColumn(double x_scale, double w_scale, double y_scale, double bias,
                                    double bias_scale) {
  const float product = static_cast<float>(x_scale) * static_cast<float>(w_scale);
  QuantisedColumn column;
  column.scale = product / static_cast<float>(y_scale);
  const bool in_products = std::fabs(bias_scale - product) <= 1e-5 * std::fabs(product) &&
                           bias == std::nearbyint(bias) && std::fabs(bias) < 0x1p31;
  if (in_products) {
    column.bias = static_cast<int32_t>(bias);
  } else {
    column.add = static_cast<float>(bias * bias_scale / y_scale);
  }
  return column;
}

PackRequest QuantConstants::Request(const QuantisedGroup& q) {
  PackRequest request;
  for (ir::ValueId id : {q.w, q.w_scale, q.w_zero, q.bias, q.bias_scale}) {
    const bool present = id != ir::kAbsent;
    if (present) request.constants.push_back(id);
    request.recipe += present ? '1' : '0';
  }
  return request;
}

QuantConstants QuantConstants::Of(std::string_view present,
                                  std::span<const Constant* const> constants) {
  QuantConstants named;
  const Constant** slots[] = {&named.w, &named.w_scale, &named.w_zero, &named.bias,
                              &named.bias_scale};
  size_t next = 0;
  for (size_t i = 0; i < std::size(slots); ++i) {
    if (present[i] == '1') *slots[i] = constants[next++];
  }
  return named;
}

QuantConstants QuantConstants::Of(const ir::Graph& group, const QuantisedGroup& q) {
  const auto at = [&](ir::ValueId id) {
    return id == ir::kAbsent ? nullptr : group.value(id).constant.get();
  };
  return {at(q.w), at(q.w_scale), at(q.w_zero), at(q.bias), at(q.bias_scale)};
}

int32_t QuantConstants::Zero(int64_t channel) const {
  return static_cast<int32_t>(At(w_zero, channel, 0));
}

QuantisedColumn QuantConstants::Column(int64_t channel, double x_scale, double y_scale) const {
  return MakeQuantisedColumn(x_scale, At(w_scale, channel, 1), y_scale, At(bias, channel, 0),
                             At(bias_scale, channel, 1));
}

namespace {

/// How depth is filled beyond one tap's own.
std::string FillOf(const QuantLayout& layout) {
  if (layout.merged > 1)
    return fmt::format("{}.merged{}", layout.joined ? ".joined" : "", layout.merged);
  if (layout.stacked > 1) return fmt::format(".stacked{}", layout.stacked);
  return layout.joined ? ".joined" : "";
}

}  // namespace

PackRequest MakeQuantPack(const QuantisedGroup& q, const QuantLayout& layout,
                          std::string_view form) {
  PackRequest request = QuantConstants::Request(q);
  const std::string present = std::exchange(request.recipe, {});
  const double y_scale = q.quantiser() != nullptr ? q.quantiser()->scale : 1;
  request.recipe = fmt::format("quantised.{}.g{}.k{}.c{}.rows{}{}.t{}.of{}.x{}.y{}", form,
                               layout.groups, layout.kernel_width, layout.ic_block, layout.tap_rows,
                               FillOf(layout), layout.transposed, present, q.x_scale, y_scale);
  request.bytes = layout.bytes();
  request.pack = [layout, present, x_scale = q.x_scale, y_scale](
                     std::span<const Constant* const> constants, std::byte* out) {
    const QuantConstants named = QuantConstants::Of(present, constants);
    Packer packer(layout, named, out);
    packer.PackColumns(x_scale, y_scale);
    if (layout.terms) {
      PackTerms(layout, named, out);
    } else if (layout.winograd) {
      PackWinograd(layout, named, out);
    } else {
      packer.PackPanels();
    }
    return OkStatus();
  };
  return request;
}

}  // namespace fettle::kernels
