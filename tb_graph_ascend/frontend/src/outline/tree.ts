/* One side's graph as far as it is loaded: nodes by id, children in pages, and what is open.
 * Unloaded children are holes, so counts alone decide layout and outline. */

import type { Node } from "../api/types";

export class GraphTree {
  readonly root: Node;
  /** Rises whenever the layout changes; loading a page leaves it alone. */
  shape = 0;
  private readonly nodes = new Map<number, Node>();
  private readonly children = new Map<number, number[]>();
  private readonly opened = new Set<number>();
  private readonly openedBelow = new Map<number, Set<number>>();

  constructor(root: Node) {
    this.root = root;
    this.nodes.set(root.id, root);
    this.open(root.id);
  }

  get(id: number): Node | undefined {
    return this.nodes.get(id);
  }

  /** The child at a position, or undefined while its page is not loaded. */
  childAt(parent: number, position: number): Node | undefined {
    const id = this.children.get(parent)?.[position];
    return id === undefined ? undefined : this.nodes.get(id);
  }

  /** All nodes loaded so far. */
  loaded(): IterableIterator<Node> {
    return this.nodes.values();
  }

  /** Add nodes, or replace them by their newer state (after a mapping). */
  insert(nodes: readonly Node[]): void {
    for (const node of nodes) {
      if (node.graph !== this.root.graph) continue;
      if (this.nodes.get(node.id)?.children !== node.children && this.isOpen(node.id)) {
        this.shape += 1;
      }
      this.nodes.set(node.id, node);
      if (node.parent !== null) this.place(node.parent, node);
    }
  }

  isOpen(id: number): boolean {
    return this.opened.has(id);
  }

  /** Open a loaded node that has children; false when there was nothing to do. */
  open(id: number): boolean {
    const node = this.nodes.get(id);
    if (!node || node.children === 0 || this.opened.has(id)) return false;
    this.opened.add(id);
    this.shape += 1;
    if (node.parent !== null) {
      const siblings = this.openedBelow.get(node.parent) ?? new Set<number>();
      this.openedBelow.set(node.parent, siblings.add(id));
    }
    return true;
  }

  /** Close a node; what is open below it is remembered for the next time. */
  close(id: number): boolean {
    const node = this.nodes.get(id);
    if (node?.parent == null || !this.opened.delete(id)) return false;
    this.openedBelow.get(node.parent)?.delete(id);
    this.shape += 1;
    return true;
  }

  /** Close everything but the root. */
  closeAll(): void {
    this.shape += 1;
    this.opened.clear();
    this.openedBelow.clear();
    this.open(this.root.id);
  }

  /** Open children of a node in execution order. */
  openChildren(parent: number): Node[] {
    const ids = this.openedBelow.get(parent);
    if (!ids) return [];
    const open = [...ids].map((id) => this.nodes.get(id)).filter((node) => node !== undefined);
    return open.sort((a, b) => a.position - b.position);
  }

  openIds(): number[] {
    return [...this.opened];
  }

  /** Ancestors from the root down to the node's parent; only as far as they are loaded. */
  ancestors(id: number): Node[] {
    const found: Node[] = [];
    for (let node = this.nodes.get(id); node?.parent != null; ) {
      node = this.nodes.get(node.parent);
      if (node) found.unshift(node);
    }
    return found;
  }

  /** Whether every ancestor is open, so that the node can be seen. */
  isVisible(id: number): boolean {
    const node = this.nodes.get(id);
    if (!node) return false;
    return this.ancestors(id).every((ancestor) => this.opened.has(ancestor.id));
  }

  private place(parent: number, node: Node): void {
    let siblings = this.children.get(parent);
    if (!siblings) {
      siblings = [];
      this.children.set(parent, siblings);
    }
    siblings[node.position] = node.id;
  }
}
