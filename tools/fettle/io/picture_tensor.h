// Pictures as model inputs, and model outputs as pictures.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "io/picture.h"
#include "tensor/tensor.h"

namespace fettle::tools {

/// How samples become numbers: none 0..255, unit 0..1, imagenet (unit - mean) / deviation per
/// channel, y the luma alone in 0..1.
enum class Preprocess { kNone, kUnit, kImageNet, kY };
Result<Preprocess> ParsePreprocess(const std::string& text);

/// Where the picture's axes are in a tensor: [n] c h w or [n] h w c, or h w alone.
struct PictureAxes {
  int channels = -1;  // -1: none
  int height = 0, width = 1;
};
/// Axes of a shape that can hold a picture (unknown extents -1 allowed); nothing where it cannot.
std::optional<PictureAxes> FindPictureAxes(const Shape& shape);

/// A tensor of type `dtype` for an input of `shape`; unknown extents follow the picture, a picture
/// of another size is resized (with a warning).
Result<Tensor> PictureToTensor(const Picture& picture, Preprocess preprocess, DType dtype,
                               const Shape& shape, std::vector<std::string>& warnings);

/// The picture in a tensor, undoing `preprocess`. `source`, the input picture, gives its depth,
/// its alpha and, for kY, its colours, all resized to the tensor's size.
Result<Picture> TensorToPicture(const Tensor& tensor, Preprocess preprocess,
                                const std::optional<Picture>& source);

}  // namespace fettle::tools
