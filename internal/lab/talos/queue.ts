/** What is pushed from one side and iterated on the other. */
export interface Queue<T> extends AsyncIterable<T> {
  push(item: T): void;
  /** Nothing more comes: iterating ends when what is there was taken. */
  end(): void;
}

/** An empty queue; iterating ends at once when `signal` fires. */
export function createQueue<T>(signal?: AbortSignal): Queue<T> {
  const items: T[] = [];
  let hasEnded = false;
  let wake: () => void = () => undefined;
  signal?.addEventListener('abort', () => wake(), { once: true });
  return {
    push(item) {
      items.push(item);
      wake();
    },
    end() {
      hasEnded = true;
      wake();
    },
    async *[Symbol.asyncIterator]() {
      while (signal?.aborted !== true) {
        const item = items.shift();
        if (item !== undefined) yield item;
        else if (hasEnded) return;
        else {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      }
    },
  };
}
