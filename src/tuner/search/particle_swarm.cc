// Particle swarm (Kennedy and Eberhart 1995) on positions rounded to the lists of values.
#include <algorithm>
#include <cmath>

#include "tuner/search/strategy.h"

namespace fettle::tuner {
namespace {

constexpr size_t kParticles = 8;
/// Constriction as in Clerc and Kennedy 2002: they make the swarm converge.
constexpr double kInertia = 0.73, kOwn = 1.5, kShared = 1.5;

struct Particle {
  std::vector<double> position, speed;
  std::optional<Evaluation> best;
};

class ParticleSwarm : public Strategy {
 public:
  explicit ParticleSwarm(const StrategyInput& input)
      : history_(*input.history), random_(input.seed) {}

  /// The first round places the particles: on the best seeds, then at random.
  std::optional<Point> Ask() override {
    if (particles_.empty()) AdoptSeeds();
    if (particles_.size() < kParticles) {
      std::optional<Point> point = RandomUnseen(history_, random_);
      if (point) {
        particles_.push_back(At(*point));
        turn_ = particles_.size() - 1;
      }
      return point;
    }
    turn_ = (turn_ + 1) % kParticles;
    Particle& particle = particles_[turn_];
    Move(particle);
    return Rounded(particle);
  }

  void Tell(const Evaluation& evaluation) override {
    std::optional<Evaluation>& best = particles_[turn_].best;
    if (evaluation.ms && (!best || *evaluation.ms < *best->ms)) best = evaluation;
  }

 private:
  static Particle At(const Point& point) {
    return {{point.begin(), point.end()}, std::vector<double>(point.size(), 0), std::nullopt};
  }
  void AdoptSeeds() {
    for (int index : history_.fastest()) {
      if (particles_.size() == kParticles / 2) break;
      particles_.push_back(At(history_.at(index).point));
      particles_.back().best = history_.at(index);
    }
  }

  void Move(Particle& particle) {
    for (size_t i = 0; i < particle.position.size(); ++i) {
      const double last = history_.space().extent(static_cast<int>(i)) - 1;
      double& position = particle.position[i];
      double& speed = particle.speed[i];
      speed *= kInertia;
      if (particle.best) speed += kOwn * random_.Uniform() * (particle.best->point[i] - position);
      if (history_.best())
        speed += kShared * random_.Uniform() * (history_.best()->point[i] - position);
      speed = std::clamp(speed, -last / 2, last / 2);
      position = std::clamp(position + speed, 0.0, last);
    }
  }

  /// The nearest point, or one that was not measured near it, where the particle then is.
  std::optional<Point> Rounded(Particle& particle) {
    Point nearest;
    for (double position : particle.position) nearest.push_back(static_cast<int>(position + 0.5));
    std::optional<Point> point = UnseenNear(nearest, history_, random_);
    if (point && *point != nearest) particle.position.assign(point->begin(), point->end());
    return point;
  }

  const History& history_;
  Random random_;
  std::vector<Particle> particles_;
  size_t turn_ = kParticles - 1;
};

}  // namespace

std::unique_ptr<Strategy> MakeParticleSwarm(const StrategyInput& input) {
  return std::make_unique<ParticleSwarm>(input);
}

}  // namespace fettle::tuner
