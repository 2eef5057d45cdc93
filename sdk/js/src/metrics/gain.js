// Figures of a ranked list whose entries carry grades, 0 for what is of no use.

// Discounted cumulative gain of the first k, with linear gain (Järvelin and Kekäläinen 2002).
function dcg(grades, k) {
  return grades.slice(0, k).reduce((sum, grade, index) => sum + grade / Math.log2(index + 2), 0);
}

// The gain of the first k over that of the best order, 0 where there is nothing to gain. `ideal` holds the grades of all
// targets, highest first.
export function ndcg(grades, ideal, k) {
  const best = dcg(ideal, k);
  return best > 0 ? dcg(grades, k) / best : 0;
}

// The mean over all targets of the precision at the rank of each, 0 for those that are not found (Manning, Raghavan and
// Schütze 2008, section 8.4).
export function averagePrecision(grades, targets) {
  if (targets === 0) return 0;
  let found = 0;
  let sum = 0;
  for (const [index, grade] of grades.entries()) {
    if (grade > 0) {
      found += 1;
      sum += found / (index + 1);
    }
  }
  return sum / targets;
}
