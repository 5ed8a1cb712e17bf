// superres: luma and alpha by a network of models/, strip by strip; chroma by Lanczos.
#include <algorithm>

#include "picture/alpha_plane.h"
#include "picture/doubling.h"
#include "steps/step.h"
#include "steps/strips.h"

namespace fettle::enhance {
namespace {

class Superres : public Step {
 public:
  explicit Superres(const StepSetup& setup)
      : strength_(static_cast<float>(setup.strength)),
        network_(*FindNetwork("superres", setup.network,
                              av_pix_fmt_desc_get(setup.format)->comp[0].depth)),
        rows_(StripRows(setup.width, setup.height, network_)),
        session_(Session::Create(LoadedModel(network_), {.threads = 1}).value()),
        input_(Tensor::Create(FETTLE_F32, {1, 1, rows_, setup.width}).value()),
        output_(Tensor::Create(FETTLE_F32, {1, 1, 2 * rows_, 2 * setup.width}).value()) {
    session_.SetInput("luma", input_).value();
    session_.SetOutput("enhanced", output_).value();
  }

  FramePtr Apply(FramePtr frame) override {
    FramePtr result = NewFrameLike(*frame, 2 * frame->width, 2 * frame->height);
    const Plane luma = PlaneOf(*frame, 0);
    CheckMean("superres", Enlarge(luma, PlaneOf(*result, 0)), luma);
    const int planes = PlaneCount(*frame);
    for (int plane = 1; plane < std::min(planes, 3); ++plane)
      doubling_.Run(PlaneOf(*frame, plane), PlaneOf(*result, plane), ShiftOf(*frame, plane));
    if (planes == 4) Alpha(PlaneOf(*frame, 3), PlaneOf(*result, 3));
    return result;
  }

 private:
  /// By the network. Returns the result's mean.
  double Enlarge(const Plane& from, const Plane& to) {
    if (strength_ < 1) {
      plain_.resize(static_cast<size_t>(to.width) * to.height);
      doubling_.Run(from, to.width, to.height, {}, plain_.data());
    }
    double total = 0;
    for (const Strip& strip : StripsOf(from.height, rows_, network_.halo))
      total += Run(strip, from, to);
    return total / to.width / to.height;
  }

  /// As luma, but no sample leaves the range of those around it: what was opaque or gone stays so.
  void Alpha(const Plane& from, const Plane& to) {
    if (IsEven(from)) return doubling_.Run(from, to, {});
    Enlarge(from, to);
    KeepWithinNeighbours(from, to);
  }

  double Run(const Strip& strip, const Plane& from, const Plane& to) {
    const auto [first, begin, end] = strip;
    ReadRows(from, first, rows_, input_.as<float>().data());
    session_.Run().value();
    float* values =
        output_.as<float>().data() + static_cast<ptrdiff_t>(2) * (begin - first) * to.width;
    if (strength_ < 1) {
      const float* plain = plain_.data() + static_cast<ptrdiff_t>(2) * begin * to.width;
      const ptrdiff_t count = static_cast<ptrdiff_t>(2) * (end - begin) * to.width;
      for (ptrdiff_t i = 0; i < count; ++i)
        values[i] = plain[i] + strength_ * (values[i] - plain[i]);
    }
    return WriteRows(values, 2 * begin, 2 * (end - begin), to);
  }

  const float strength_;
  const Network network_;
  const int rows_;
  Session session_;
  Tensor input_, output_;
  Doubling doubling_;
  std::vector<float> plain_;
};

}  // namespace

std::unique_ptr<Step> MakeSuperres(const StepSetup& setup) {
  return std::make_unique<Superres>(setup);
}

}  // namespace fettle::enhance
