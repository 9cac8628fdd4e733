/** The first of nothing, `-1`, `-2`, … that `isFree`; as `talosctl config merge` names what would replace something else. */
export function firstSuffix(isFree: (suffix: string) => boolean): string {
  for (let count = 0; ; count += 1) {
    const suffix = count === 0 ? '' : `-${count}`;
    if (isFree(suffix)) return suffix;
  }
}
