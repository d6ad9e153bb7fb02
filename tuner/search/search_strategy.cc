#include "tuner/search/search_strategy.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tuner/search/bayesian_strategy.h"
#include "tuner/search/evolutionary_strategy.h"
#include "tuner/search/random_strategy.h"

namespace burnish {

std::vector<std::string> SearchStrategyNames() { return {"bayesian", "evolutionary", "random"}; }

absl::StatusOr<std::unique_ptr<SearchStrategy>> MakeSearchStrategy(absl::string_view name,
                                                                   SearchOptions options) {
  if (name == "bayesian") return std::make_unique<BayesianStrategy>(std::move(options));
  if (name == "evolutionary") return std::make_unique<EvolutionaryStrategy>(std::move(options));
  if (name == "random") return std::make_unique<RandomStrategy>(std::move(options));
  return absl::InvalidArgumentError(absl::StrCat("got strategy ", name, ", want one of ",
                                                 absl::StrJoin(SearchStrategyNames(), ", ")));
}

}  // namespace burnish
