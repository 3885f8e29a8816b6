/**
 * Generated run names: adjective-animal. The words follow from the run's id by a fixed permutation, so names are unique
 * without reading the store: once all pairs are used, a count is appended.
 */

const ADJECTIVES =
  "able agile alert amber ample aqua arctic autumn azure balmy bold brave breezy bright brisk bronze busy calm candid careful cheery civil clear clever coastal cobalt cool copper coral cosmic crimson crisp curious daring dapper deft direct dusky eager early earnest easy emerald even fair famous fancy fast fearless fine firm fleet fluent fond frank fresh frosty gentle gifted glad golden grand green handy happy hardy hazel hearty honest humble indigo ivory jade jolly jovial keen kind lasting lively loyal lucid lucky lunar maroon mellow merry mighty mild misty modest neat nimble noble northern novel olive open patient pearl plucky polite proud quick quiet rapid ready regal robust rosy royal ruby rustic sage scarlet serene silent silver simple sleek smart snowy solar solid sonic spry stable steady".split(
    " ",
  );
const ANIMALS =
  "adder albatross alpaca ant antelope auk badger barbet bat bear beaver bee beetle bison bittern boar bobcat buffalo bunting bustard buzzard camel caracal caribou cat cheetah chough cicada civet cobra cod condor coot cormorant coyote crab crane cricket crow cuckoo curlew deer dingo dipper dolphin dove dragonfly drake duck dunlin eagle eel egret eider elk emu ermine falcon fennec ferret finch firefly flamingo fox frog gannet gazelle gecko gibbon giraffe goat godwit goldfinch goose grebe grouse gull hamster hare harrier hawk hedgehog heron herring hoopoe hornet horse hound ibex ibis iguana impala jackal jackdaw jaguar jay kestrel kingfisher kite kiwi koala lapwing lark lemming lemur leopard linnet lion lizard llama lobster loon lynx macaw magpie mallard manatee marlin marmot marten martin merlin mink mole moose moth mouse narwhal newt".split(
    " ",
  );

const PAIRS = ADJECTIVES.length * ANIMALS.length;
/** A prime that divides none of the list lengths: multiplying by it visits every pair once, with neighbours far apart. */
const STRIDE = 7919;

/** The generated name of the run with this id. */
export function nameOfRun(runId: number): string {
  const pair = (runId * STRIDE) % PAIRS;
  const round = Math.floor(runId / PAIRS);
  const name = `${ADJECTIVES[pair % ADJECTIVES.length]}-${ANIMALS[Math.floor(pair / ADJECTIVES.length)]}`;
  return round === 0 ? name : `${name}-${round + 1}`;
}

/** The name of the rerun after a crash: "job-7" -> "job-retry-1". */
export function nameOfRerun(crashedName: string, reruns: number): string {
  return `${crashedName.replace(/[-\d]+$/, "").replace(/-retry$/, "")}-retry-${reruns}`;
}
