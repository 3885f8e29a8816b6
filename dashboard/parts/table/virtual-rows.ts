/** Which rows of a long list are drawn: those in the window and a few around it. */
import { useSignal } from "@preact/signals";
import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  observeWindowOffset,
  observeWindowRect,
  type VirtualItem,
  Virtualizer,
  type VirtualizerOptions,
  windowScroll,
} from "@tanstack/virtual-core";
import { useLayoutEffect, useRef } from "preact/hooks";

const OVERSCAN = 8;

export interface VirtualRows {
  items: VirtualItem[];
  /** Total height of the rows omitted before and after the drawn ones. */
  before: number;
  after: number;
  scrollTo: (index: number, align?: "auto" | "start" | "center" | "end") => void;
  /** For rows with their own height: the `ref` of each row, which needs the attribute data-index. */
  measure: (element: Element | null) => void;
}

/** A reference to an element. */
interface Box {
  current: HTMLElement | null;
}

export interface VirtualOptions {
  count: number;
  /** Height of a row, or its estimate if rows are measured. */
  height: number;
  /** The scrolling element; null: the window, with `list` where the rows begin. */
  scroller: Box | null;
  list: Box;
  /** Height of the elements that cover the top of the window. */
  covered?: number;
}

type Scroller = Virtualizer<Window, Element> | Virtualizer<HTMLElement, Element>;

export function useVirtualRows({ count, height, scroller, list, covered = 0 }: VirtualOptions): VirtualRows {
  const drawn = useSignal(0);
  const known = useRef<Scroller | null>(null);
  const margin = useRef(0);
  const own = {
    count,
    estimateSize: () => height,
    overscan: OVERSCAN,
    scrollMargin: margin.current,
    scrollPaddingStart: covered,
    scrollPaddingEnd: height,
    onChange: () => {
      drawn.value += 1;
    },
  };
  known.current ??= scroller === null ? ofWindow(own) : ofElement(own, scroller);
  const virtual = known.current;
  virtual.setOptions({ ...virtual.options, ...own } as never);
  useLayoutEffect(() => {
    const end = virtual._didMount();
    return () => end?.();
  }, []);
  useLayoutEffect(() => {
    virtual._willUpdate();
    // The start of the list may move with the content above it.
    const top = scroller === null ? Math.round((list.current?.getBoundingClientRect().top ?? 0) + window.scrollY) : 0;
    if (top !== margin.current) {
      margin.current = top;
      drawn.value += 1;
    }
  });
  const last = useRef(height);
  if (last.current !== height) {
    last.current = height;
    virtual.measure();
  }
  void drawn.value;
  const items = virtual.getVirtualItems();
  const first = items[0];
  const end = items.at(-1);
  return {
    items,
    before: first === undefined ? 0 : first.start - margin.current,
    after: end === undefined ? 0 : Math.max(0, virtual.getTotalSize() - (end.end - margin.current)),
    scrollTo: (index, align = "auto") => virtual.scrollToIndex(index, { align }),
    measure: (element) => virtual.measureElement(element),
  };
}

type Shared = Pick<VirtualizerOptions<Window, Element>, "count" | "estimateSize" | "overscan" | "scrollMargin"> & {
  onChange: () => void;
};

function ofWindow(own: Shared): Virtualizer<Window, Element> {
  return new Virtualizer<Window, Element>({
    ...own,
    getScrollElement: () => window,
    observeElementRect: observeWindowRect,
    observeElementOffset: observeWindowOffset,
    scrollToFn: windowScroll,
    initialRect: { width: window.innerWidth, height: window.innerHeight },
    initialOffset: () => window.scrollY,
  });
}

function ofElement(own: Shared, scroller: Box): Virtualizer<HTMLElement, Element> {
  return new Virtualizer<HTMLElement, Element>({
    ...own,
    getScrollElement: () => scroller.current,
    observeElementRect,
    observeElementOffset,
    scrollToFn: elementScroll,
    initialRect: { width: 800, height: 600 },
  });
}
