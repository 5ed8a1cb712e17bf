// compiled: small
#include "kernels/cpu/binary/geometry.h"

#include <algorithm>
#include <cstring>

namespace fettle::kernels {

Result<BitGeometry> BitGeometry::Make(const ops::BinaryProduct& product) {
  BitGeometry g;
  const size_t rank = product.kernel.size();
  if (rank > 3) return Unsupported("{} spatial axes", rank);
  g.padded_ = {1, 1, 1};
  for (size_t i = 0; i < rank; ++i) {
    const size_t to = 3 - rank + i;
    g.in_[to] = product.in[static_cast<int>(i)];
    g.out_[to] = product.out[static_cast<int>(i)];
    g.kernel_[to] = product.kernel[i];
    g.stride_[to] = product.strides[i];
    g.dilation_[to] = product.dilations[i];
    g.pad_[to] = product.pad_begin[i];
    // As far as the last pixel reads, which may be less than the input has.
    const int64_t reach =
        (g.out_[to] - 1) * g.stride_[to] + (g.kernel_[to] - 1) * g.dilation_[to] + 1;
    g.copies_ = g.copies_ || g.pad_[to] != 0 || reach > g.in_[to];
    g.padded_[to] = reach;
  }
  if (!g.copies_) g.padded_ = g.in_;
  g.words_ = product.words();
  g.counts_all_ = product.x_unipolar || product.x_one != -product.x_zero;
  g.row_words_ = product.groups * g.words_;
  g.pixels_ = product.pixels();
  g.images_ = product.images;
  g.image_words_ = g.padded_[0] * g.padded_[1] * g.padded_[2] * g.row_words_;
  for (int64_t i = 0; i < g.row_words_; ++i) {
    g.beside_.push_back(
        product.pad_bit.value_or(false) ? ops::WordMask(product.channels, i % g.words_) : 0);
  }
  g.FindSteps();
  if (g.copies_ && !product.pad_bit) g.FindClasses(product);
  for (const std::vector<int32_t>& outside : g.outside_)
    g.inside_.push_back(static_cast<int32_t>(g.taps() - std::ssize(outside)));
  if (g.lines_.empty()) g.lines_ = {{0, g.lines()}};
  return g;
}

void BitGeometry::FindSteps() {
  for (int64_t d = 0; d < kernel_[0]; ++d) {
    for (int64_t h = 0; h < kernel_[1]; ++h) {
      for (int64_t w = 0; w < kernel_[2]; ++w) {
        const int64_t row = d * dilation_[0] * padded_[1] + h * dilation_[1];
        const int64_t at = (row * padded_[2] + w * dilation_[2]) * row_words_;
        for (int64_t word = 0; word < words_; ++word) steps_.push_back(at + word);
      }
    }
  }
}

void BitGeometry::FindClasses(const ops::BinaryProduct& product) {
  std::array<std::vector<ops::TapRange>, 3> ranges;  // of an axis, the whole one first
  const size_t rank = product.kernel.size();
  for (size_t axis = 0; axis < 3; ++axis) {
    ranges[axis] = {{0, kernel_[axis]}};
    axis_class_[axis].assign(out_[axis], 0);
    if (axis + rank < 3) continue;
    const int at = static_cast<int>(axis + rank) - 3;
    for (int64_t i = 0; i < out_[axis]; ++i) {
      const ops::TapRange range = ops::InsideTaps(product, at, i, in_[axis]);
      const auto known = std::find_if(
          ranges[axis].begin(), ranges[axis].end(),
          [&](const ops::TapRange& r) { return r.begin == range.begin && r.end == range.end; });
      axis_class_[axis][i] = static_cast<int32_t>(known - ranges[axis].begin());
      if (known == ranges[axis].end()) ranges[axis].push_back(range);
    }
  }
  FindEnds(ranges[2]);
  const auto planes = std::ssize(ranges[1]) * std::ssize(ranges[2]), lines = std::ssize(ranges[2]);
  for (int32_t& of : axis_class_[0]) of *= static_cast<int32_t>(planes);
  for (int32_t& of : axis_class_[1]) of *= static_cast<int32_t>(lines);
  outside_.clear();
  for (const ops::TapRange& d : ranges[0]) {
    for (const ops::TapRange& h : ranges[1]) {
      for (const ops::TapRange& w : ranges[2]) AddClass({d, h, w});
    }
  }
}

void BitGeometry::FindEnds(const std::vector<ops::TapRange>& ranges) {
  line_classes_ = std::ssize(ranges);
  const std::vector<int32_t>& of = axis_class_[2];
  // Of lines of two tiles and more the ends gain less than the spans that they take.
  if (counts_all_ || kernel_[2] < 2 || of.size() < 2 || of.size() > kMaxBitPixels) return;
  const ops::TapRange &first = ranges[of.front()], &last = ranges[of.back()];
  int ends = kNoEnds;
  if (first.begin == 1 && first.end == kernel_[2] && of[1] != of[0]) ends |= kFirstEnd;
  if (last.begin == 0 && last.end == kernel_[2] - 1 && of[of.size() - 2] != of.back())
    ends |= kLastEnd;
  ends_ = static_cast<BitEnds>(ends);
}

BitEnds BitGeometry::EndsOf(int64_t of_class) const {
  int ends = kNoEnds;
  if (ends_ == kNoEnds) return kNoEnds;
  const int64_t in_line = of_class % line_classes_;
  if (in_line == axis_class_[2].front()) ends |= kFirstEnd;
  if (in_line == axis_class_[2].back()) ends |= kLastEnd;
  return static_cast<BitEnds>(ends & ends_);
}

void BitGeometry::AddClass(const std::array<ops::TapRange, 3>& ranges) {
  const auto& [d, h, w] = ranges;
  const auto is_in = [](const ops::TapRange& r, int64_t t) { return t >= r.begin && t < r.end; };
  std::vector<int32_t>& outside = outside_.emplace_back();
  for (int64_t t = 0; t < kernel_[0] * kernel_[1] * kernel_[2]; ++t) {
    const int64_t line = t / kernel_[2];
    if (!is_in(d, line / kernel_[1]) || !is_in(h, line % kernel_[1]) || !is_in(w, t % kernel_[2]))
      outside.push_back(static_cast<int32_t>(t));
  }
  ops::TapRange& counted = lines_.emplace_back(ops::TapRange{0, 0});
  if (counts_all_) counted.end = lines();
  if (counts_all_ || d.begin >= d.end || h.begin >= h.end) return;
  counted = {d.begin * kernel_[1] + h.begin, (d.end - 1) * kernel_[1] + h.end};
}

std::vector<int32_t> BitGeometry::Outside(int64_t of_class, bool in_spans) const {
  std::vector<int32_t> taps = outside_[of_class];
  if (!in_spans) return taps;
  const ops::TapRange& counted = lines_[of_class];
  const BitEnds ends = EndsOf(of_class);
  std::erase_if(taps, [&](int32_t t) {
    const int64_t line = t / kernel_[2], column = t % kernel_[2];
    return line < counted.begin || line >= counted.end ||
           ((ends & kFirstEnd) != 0 && column == 0) ||
           ((ends & kLastEnd) != 0 && column == kernel_[2] - 1);
  });
  return taps;
}

void BitGeometry::Copy(const uint64_t* x, uint64_t* copy) const {
  const int64_t line = padded_[2] * row_words_;
  const int64_t inside = std::max<int64_t>(0, std::min(in_[2], padded_[2] - pad_[2]));
  const auto fill = [&](uint64_t* to, int64_t pixels) {
    for (int64_t i = 0; i < pixels; ++i, to += row_words_)
      std::copy_n(beside_.data(), row_words_, to);
  };
  for (int64_t image = 0; image < images_; ++image) {
    for (int64_t d = 0; d < padded_[0]; ++d) {
      for (int64_t h = 0; h < padded_[1]; ++h, copy += line) {
        const int64_t from_d = d - pad_[0], from_h = h - pad_[1];
        if (from_d < 0 || from_d >= in_[0] || from_h < 0 || from_h >= in_[1]) {
          fill(copy, padded_[2]);
          continue;
        }
        const int64_t row = (image * in_[0] + from_d) * in_[1] + from_h;
        const int64_t before = std::min(pad_[2], padded_[2]);
        fill(copy, before);
        std::copy_n(x + row * in_[2] * row_words_, inside * row_words_, copy + before * row_words_);
        fill(copy + (before + inside) * row_words_, padded_[2] - before - inside);
      }
    }
  }
}

BitGeometry::Place BitGeometry::PlaceOf(int64_t pixel) const {
  Place place;
  for (size_t i = 3; i-- > 0;) {
    if (out_[i] == 1) continue;
    place.at[i] = pixel % out_[i];
    pixel /= out_[i];
  }
  place.image = pixel;
  return place;
}

void BitGeometry::Advance(Place& place) const {
  for (size_t i = 3; i-- > 0;) {
    if (++place.at[i] < out_[i]) return;
    place.at[i] = 0;
  }
  ++place.image;
}

void BitGeometry::FillBases(const uint64_t* image, int64_t first, int64_t count,
                            const uint64_t** bases) const {
  const int64_t step = stride_[2] * row_words_;
  Place place = PlaceOf(first);
  for (int64_t i = 0; i < count;) {
    const int64_t line = place.at[0] * stride_[0] * padded_[1] + place.at[1] * stride_[1];
    const uint64_t* base = image + place.image * image_words_ +
                           (line * padded_[2] + place.at[2] * stride_[2]) * row_words_;
    const int64_t run = std::min(count - i, out_[2] - place.at[2]);
    for (int64_t j = 0; j < run; ++j) bases[i + j] = base + j * step;
    i += run;
    place.at[2] = out_[2] - 1;
    Advance(place);
  }
}

void BitGeometry::FillClasses(int64_t first, int64_t count, int32_t* classes) const {
  if (outside_.size() == 1) {
    std::fill_n(classes, count, 0);
    return;
  }
  Place place = PlaceOf(first);
  for (int64_t i = 0; i < count;) {
    const int32_t line = axis_class_[0][place.at[0]] + axis_class_[1][place.at[1]];
    const int64_t run = std::min(count - i, out_[2] - place.at[2]);
    const int32_t* in_line = axis_class_[2].data() + place.at[2];
    for (int64_t j = 0; j < run; ++j) classes[i + j] = line + in_line[j];
    i += run;
    place.at[2] = out_[2] - 1;
    Advance(place);
  }
}

int64_t BitGeometry::SpanTaskPixels(int64_t most) const {
  const int64_t line = classes() > 1 && out_[2] <= most ? out_[2] : 1;
  const int64_t lines = pixels_ / line, lines_of_task = most / line;
  const int64_t tasks = std::max<int64_t>(1, (lines + lines_of_task - 1) / lines_of_task);
  return std::max<int64_t>(1, (lines + tasks - 1) / tasks) * line;
}

int64_t BitGeometry::FillSpans(int64_t first, int64_t count, BitSpan* spans) const {
  BitSpan* next = spans;
  const bool by_line = classes() > 1;
  Place place = by_line ? PlaceOf(first) : Place{};
  for (int64_t i = 0; i < count;) {
    const int64_t run = by_line ? std::min(count - i, out_[2] - place.at[2]) : count;
    const int32_t line = by_line ? axis_class_[0][place.at[0]] + axis_class_[1][place.at[1]] : 0;
    const ops::TapRange& lines = lines_[line];
    const auto pixels = static_cast<int32_t>(run);
    const int32_t parts = (pixels + kMaxBitPixels - 1) / kMaxBitPixels;
    const int32_t least = pixels / parts, longer = pixels - least * parts;
    const auto append = [&](int64_t from, int32_t of_each, int32_t tiles, int ends) {
      const BitSpan span{.first = static_cast<int32_t>(from),
                         .pixels = of_each,
                         .tiles = tiles,
                         .line = static_cast<int32_t>(lines.begin),
                         .lines = static_cast<int32_t>(lines.end - lines.begin),
                         .ends = static_cast<BitEnds>(ends)};
      const bool is_more = next != spans && next[-1].pixels == of_each &&
                           next[-1].line == span.line && next[-1].lines == span.lines &&
                           next[-1].ends == span.ends;
      if (is_more) {
        next[-1].tiles += tiles;
      } else if (tiles > 0) {
        *next++ = span;
      }
    };
    if (ends_ == kNoEnds) {
      append(i, least + 1, longer, kNoEnds);
      append(i + longer * (least + 1), least, parts - longer, kNoEnds);
    } else {
      append(i, pixels, 1, ends_);
    }
    i += run;
    if (!by_line) break;
    place.at[2] = out_[2] - 1;
    Advance(place);
  }
  return next - spans;
}

}  // namespace fettle::kernels
