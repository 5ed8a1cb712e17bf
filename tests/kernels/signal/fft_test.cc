// Spectra by fast transforms, of random lengths and kinds, against the oracle's transform.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "kernels/cpu/fft/spectrum.h"
#include "ops/signal/transform.h"
#include "tests/slowed.h"

namespace fettle::kernels {
namespace {

/// How one transform is asked for, as a failure prints it.
struct Asked {
  SpectrumFacts facts;

  explicit Asked(std::mt19937& random) {
    const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % n); };
    facts.length = 1 + below(below(8) == 0 ? 2500 : 200);
    facts.transforms = 1 + below(40);
    facts.inners = facts.transforms;
    facts.mirrored = below(4) == 0;
    facts.complex = facts.mirrored || below(2) == 0;
    facts.inverse = facts.mirrored || below(2) == 0;
    const bool half = !facts.complex && !facts.inverse && below(2) == 0;
    facts.bins = half ? facts.length / 2 + 1 : facts.length;
    const int64_t most = facts.mirrored ? facts.length / 2 + 1 : facts.length;
    facts.samples = below(2) == 0 ? most : 1 + below(most);
    facts.x = {0, facts.samples * x_parts() + 3, x_parts()};
    facts.y = {0, facts.bins * y_parts() + 1, y_parts()};
  }

  int64_t x_parts() const { return facts.complex ? 2 : 1; }
  int64_t y_parts() const { return facts.mirrored ? 1 : 2; }
};

template <typename T>
std::vector<T> Compute(const SpectrumFacts& facts, const std::vector<T>& x) {
  const Spectrum<T> spectrum(facts);
  const int64_t numbers = spectrum.fft().extent() * spectrum.fft().side();
  const int64_t work = spectrum.fft().work_numbers();
  // What nobody has written is NaN.
  std::vector<T> memory(4 * numbers + 2 * work, T(NAN));
  std::vector<T> y(facts.transforms * facts.y.inner, T(7));
  const auto alone = [](int64_t tasks, FftWork task) {
    for (int64_t i = 0; i < tasks; ++i) task(i, 0);
  };
  const Planes<T> a{memory.data(), memory.data() + numbers};
  T* scratch = memory.data() + 4 * numbers;
  for (int64_t step = 0; step < spectrum.steps(); ++step) {
    spectrum.Load(x.data(), nullptr, step, 0, spectrum.loads(), a);
    const Planes<T> z = spectrum.Run(a, a.From(2 * numbers), {scratch, scratch + work}, alone);
    spectrum.Store(z, step, 0, spectrum.stores(), y.data());
  }
  return y;
}

/// What transform `t` of the oracle comes to.
template <typename T>
std::vector<std::complex<double>> Expected(const Asked& asked, const std::vector<T>& x, int64_t t) {
  const SpectrumFacts& facts = asked.facts;
  std::vector<std::complex<double>> signal(facts.length);
  for (int64_t k = 0; k < facts.samples; ++k) {
    const int64_t at = t * facts.x.inner + k * facts.x.step;
    signal[k] = {x[at], facts.complex ? x[at + 1] : 0};
    if (facts.mirrored && k > 0 && 2 * k != facts.length) signal[k] *= 2;
  }
  std::vector<std::complex<double>> bins = ops::Transform(signal, facts.inverse ? 1 : -1);
  if (facts.inverse) {
    for (auto& bin : bins) bin /= static_cast<double>(facts.length);
  }
  return bins;
}

template <typename T>
void Check(const Asked& asked, std::mt19937& random, double tolerance) {
  const SpectrumFacts& facts = asked.facts;
  std::uniform_real_distribution<double> noise(-1, 1);
  std::vector<T> x(facts.transforms * facts.x.inner);
  std::ranges::generate(x, [&] { return static_cast<T>(noise(random)); });
  const std::vector<T> y = Compute(facts, x);
  double most = 0, off = 0;
  for (int64_t t = 0; t < facts.transforms; ++t) {
    const auto expected = Expected(asked, x, t);
    for (int64_t k = 0; k < facts.bins; ++k) {
      const int64_t at = t * facts.y.inner + k * facts.y.step;
      const std::complex<double> value{y[at], facts.mirrored ? expected[k].imag() : y[at + 1]};
      most = std::max(most, std::abs(expected[k]));
      // NaN is off too.
      if (!(std::abs(value - expected[k]) <= off)) off = std::abs(value - expected[k]);
    }
    EXPECT_EQ(y[t * facts.y.inner + facts.bins * facts.y.step], T(7)) << "written behind a row";
  }
  EXPECT_LT(off, tolerance * most)
      << "length " << facts.length << ", samples " << facts.samples << ", bins " << facts.bins
      << ", transforms " << facts.transforms << ", complex " << facts.complex << ", inverse "
      << facts.inverse << ", mirrored " << facts.mirrored;
}

TEST(FftTest, AgreesWithTheOracle) {
  std::mt19937 random(36);
  for (int i = 0; i < 200 / CasesStride(); ++i) {
    const Asked asked(random);
    Check<float>(asked, random, 2e-6);
    Check<double>(asked, random, 1e-14);
  }
}

}  // namespace
}  // namespace fettle::kernels
